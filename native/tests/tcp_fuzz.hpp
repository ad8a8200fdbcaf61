// What the parts of the fuzz target share: chance, damage, and what each part feeds.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace cobre::tcp::fuzz {

using Random = std::mt19937_64;
// What is wrong with what came of an input; nullptr if nothing is.
using OverdueNotice = const char*;

inline std::size_t below(Random& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

inline std::string random_bytes(Random& random, std::size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

inline std::string garbage(Random& random) { return random_bytes(random, below(random, 200)); }

inline void damage(Random& random, std::string& stream) {
    for (std::size_t i = below(random, 5); i > 0 && !stream.empty(); --i) {
        const std::size_t place = below(random, stream.size());
        switch (below(random, 4)) {
            case 0: stream[place] = static_cast<char>(random()); break;
            case 1: stream.erase(place, 1 + below(random, 20)); break;
            case 2: stream.insert(place, std::string(1 + below(random, 20), static_cast<char>(random()))); break;
            default: stream.resize(place); break;
        }
    }
}

// Rank 0's side of a handshake, and a worker's.
OverdueNotice feed_doorkeeper(Random& random);
OverdueNotice feed_worker_side(Random& random);

}  // namespace cobre::tcp::fuzz
