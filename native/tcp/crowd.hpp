// Who makes room when more connections wait at rank 0's door than it can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace cobre::tcp {

struct Waiting {
    std::uint64_t source = 0;  // where it came from: Endpoint::source
    bool has_proved = false;   // that it knows the secret
};

// The place of one of those who have proved nothing, from the source with most of them: whoever comes in a crowd
// pushes out its own. Which of them is left to chance, so that nobody who needs long is always the one. Those who
// know the secret go only if there are no others. `waiting` is not empty.
std::size_t whom_to_dismiss(std::span<const Waiting> waiting, std::minstd_rand& chance);

}  // namespace cobre::tcp
