// Which connection rank 0 drops when more of them wait to be admitted than it can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace cobre::tcp {

struct Connection {
    std::uint64_t source = 0;  // where it came from: Endpoint::source
    bool has_proved = false;   // that it has the secret
};

// The index of the connection to drop: one without proof, from the source with the most connections without proof.
// A flood from one source therefore evicts its own connections. Among them the choice is random, so that no slow
// worker is always the one. Connections with proof are dropped only if there are no others. `waiting` is not
// empty.
std::size_t choose_eviction(std::span<const Connection> waiting, std::minstd_rand& random);

}  // namespace cobre::tcp
