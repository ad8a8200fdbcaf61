// What names stand for, without being at the mercy of the system's resolver.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tcp/caller.hpp"
#include "tcp/socket.hpp"

namespace cobre::tcp {

// What a name or address stands for, best first, each once. `localhost` is both loopback addresses whatever the
// resolver thinks; to listen at, an empty host is every address of both families. Throws std::runtime_error with
// the resolver's words, also when it says nothing until `until`, and `Interrupted`.
std::vector<Endpoint> look_up(const std::string& host, int port, bool to_listen,
                              std::chrono::steady_clock::time_point until, Caller& caller);

}  // namespace cobre::tcp
