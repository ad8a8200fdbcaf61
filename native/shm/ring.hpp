// Where a rank's chunks lie in its ring; writer and readers compute it alike.
//
// A call's chunks follow those of the call before, so that small payloads walk through the whole ring as well.
// That is what makes it fast: memory that another core has read is dear to write again while that core still holds
// it, and a ring larger than the second-level cache has left it by the time it comes round.
#pragma once

#include <cstdint>

#include "shm/layout.hpp"

namespace cobre::shm {

class Ring {
public:
    explicit Ring(std::uint64_t bytes) noexcept : bytes_(bytes), per_lap_(bytes / cache_line) {}

    // The chunks of this call have `unit` bytes, at most the ring's, and begin on cache lines: vector copies are
    // aligned, and no line belongs to two chunks.
    void open(std::uint64_t unit) noexcept {
        const std::uint64_t stride = (unit + cache_line - 1) / cache_line * cache_line;
        if (stride == stride_) return;
        stride_ = stride;
        per_lap_ = bytes_ / stride;
    }
    // So many of them have gone through.
    void advance(std::uint64_t chunks) noexcept {
        if (chunks == 0) return;
        const Place last = place(chunks - 1);
        lap_ = last.lap;
        at_ = last.at + stride_;
        before_ += chunks;
    }

    std::uint64_t chunks_before() const noexcept { return before_; }
    // Whether a call of so many chunks may need to wait for room; where an end of the ring is left unused, one
    // fewer fits.
    bool may_fill_up(std::uint64_t chunks) const noexcept { return chunks >= per_lap_; }

    std::uint64_t offset(std::uint64_t index) const noexcept { return place(index).at; }
    // Positions in bytes, counted from the beginning of time.
    std::uint64_t begin_of(std::uint64_t index) const noexcept {
        const Place found = place(index);
        return found.lap + found.at;
    }
    std::uint64_t end_of(std::uint64_t index) const noexcept { return begin_of(index) + stride_; }
    std::uint64_t position() const noexcept { return lap_ + at_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    struct Place {
        std::uint64_t lap;  // position at which the lap began
        std::uint64_t at;   // bytes from there
    };

    Place place(std::uint64_t index) const noexcept {
        const std::uint64_t at = at_ + index * stride_;
        if (at + stride_ <= bytes_) [[likely]]
            return {lap_, at};
        const std::uint64_t here = (bytes_ - at_) / stride_;  // in what is left of this lap
        const std::uint64_t later = index - here;
        return {lap_ + bytes_ * (1 + later / per_lap_), later % per_lap_ * stride_};
    }

    std::uint64_t bytes_;
    std::uint64_t stride_ = cache_line;
    std::uint64_t per_lap_;
    std::uint64_t lap_ = 0;
    std::uint64_t at_ = 0;
    std::uint64_t before_ = 0;
};

}  // namespace cobre::shm
