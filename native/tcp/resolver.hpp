// Resolves names to addresses with a deadline, whatever the system's resolver does.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/caller.hpp"
#include "tcp/socket.hpp"

namespace cobre::tcp {

// What a name or address stands for, best first, each once. `localhost` is both loopback addresses whatever the
// resolver thinks; to listen at, an empty host is every address of both families.
class Lookup {
public:
    // Asks, in a thread of its own where the resolver is needed: that cannot be interrupted. Throws
    // std::runtime_error when that is impossible.
    Lookup(const std::string& host, int port, bool to_listen);

    bool is_answered() const;
    // Becomes readable when the answer is there.
    int fd() const noexcept;
    // The answer, once. Throws std::runtime_error with the resolver's message if it has none.
    std::vector<Endpoint> take();

private:
    struct Question;
    std::shared_ptr<Question> question_;
};

// Waits for the answer. Throws std::runtime_error, also when there is none until `until`, and `Interrupted`.
std::vector<Endpoint> look_up(const std::string& host, int port, bool to_listen,
                              std::chrono::steady_clock::time_point until, comm::Caller& caller);

}  // namespace cobre::tcp
