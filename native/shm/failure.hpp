// The failure that ends a group: the first one is written down for all, and every rank repeats it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/error.hpp"
#include "comm/failure.hpp"
#include "shm/layout.hpp"

namespace cobre::shm {

// Makes calls from `sequence` on fail. The first text is kept, and the lowest sequence: a rank that is still in an
// earlier call may wait for a rank that has given up on that call.
void record_failure(Header& header, std::uint64_t sequence, const comm::Failure& failure) noexcept;

// Whether the call with this number has failed. One load of a line that is not written before a failure.
inline bool has_failed(const Header& header, std::uint64_t sequence) noexcept {
    // Acquire pairs with the release in record_failure.
    return header.failure.sequence.load(std::memory_order_acquire) <= sequence;
}

// The recorded failure; waits a moment if another rank is writing it.
comm::Failure recorded_failure(const Header& header);

}  // namespace cobre::shm
