// The failure that ends a group: the first one is written down for all, and every rank repeats it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/error.hpp"
#include "shm/layout.hpp"

namespace cobre::shm {

struct Failure {
    std::string text;
    std::string fix;
};

// Thrown when the caller's own handler asks to stop; it has its reasons at hand.
struct Interrupted {};

// Lets calls from `sequence` on fail. The first words win; the lowest sequence wins, for a rank that is still
// busy with an earlier call may need somebody who has given up on it.
void record_failure(Header& header, std::uint64_t sequence, const Failure& failure) noexcept;

// Whether the call with this number has failed. One load of a line that nobody writes while all is well.
inline bool has_failed(const Header& header, std::uint64_t sequence) noexcept {
    // Acquire pairs with the release in record_failure.
    return header.failure.sequence.load(std::memory_order_acquire) <= sequence;
}

// The words of the recorded failure; waits a moment for whoever is writing them.
Failure recorded_failure(const Header& header);

}  // namespace cobre::shm
