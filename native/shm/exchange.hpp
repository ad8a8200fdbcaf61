// Moving payloads through the rings: every rank puts its own chunks in and takes the others' out, whichever is
// possible.
#pragma once

#include <cstdint>
#include <span>

#include "comm/arguments.hpp"
#include "shm/team.hpp"

namespace cobre::shm {

// One rank's contribution on its way into this rank's memory.
struct Lane {
    const std::byte* source = nullptr;  // this rank's own lane only
    std::byte* target = nullptr;        // null: stays where it is
    std::uint64_t bytes = 0;
    std::uint64_t chunks = 0;
    std::uint64_t done = 0;   // own lane: put into the ring; others: taken out
    std::uint64_t ready = 0;  // others: known to be in the ring
};

// Which copies go around the cache: into the ring, while its readers do not share it, and into results that are
// larger than it.
struct AroundCache {
    bool into_ring = false;
    bool into_result = false;
};

class Exchange {
public:
    // `unit` bytes per chunk, at most the ring's. `lanes` has one entry per rank.
    Exchange(Team& team, std::span<Lane> lanes, std::uint64_t unit, AroundCache around_cache) noexcept
        : team_(team), lanes_(lanes), unit_(unit), around_cache_(around_cache) {}

    static std::uint64_t chunks_of(std::uint64_t bytes, std::uint64_t unit) noexcept {
        return (bytes + unit - 1) / unit;
    }

    // Before the slot is published: puts the first chunks into the ring if they fit; returns how many.
    std::uint64_t prefill() noexcept;
    // After all ranks have agreed: everything else.
    void run();

private:
    Lane& own() noexcept { return lanes_[static_cast<std::size_t>(team_.group().rank)]; }
    std::uint64_t length(const Lane& lane, std::uint64_t index) const noexcept;
    void fill_one() noexcept;
    void fill_and_announce() noexcept;
    bool can_fill() noexcept;
    bool fills_first() noexcept;
    bool take_one(int rank) noexcept;
    bool is_available(int rank) noexcept;
    bool is_awaited(int rank) noexcept;
    bool can_move() noexcept;

    Team& team_;
    std::span<Lane> lanes_;
    std::uint64_t unit_;
    AroundCache around_cache_;
};

// What all ranks fold, and where the result goes.
struct Reduction {
    const std::byte* send;
    std::byte* recv;
    std::uint64_t count;
    comm::DType dtype;
    comm::ReduceOp op;
    bool ring_around_cache;
    bool result_around_cache;

    std::uint64_t bytes() const noexcept { return count * dtype.itemsize; }
};

// Every rank folds everything itself, chunk by chunk: one hop, best for small payloads and for two ranks.
// Begins after the slots are agreed upon, with `prefilled` chunks of `unit` bytes in this rank's ring. Payloads
// that travelled in the slots are taken from there. With `writes` false only the other ranks need the result.
void fold_everything(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t prefilled,
                     bool writes);

// Rank p folds the p-th part of each chunk and the others fetch it: less work for each of three or more ranks.
// With `is_placed` the result is in memory that all ranks share, and is written once.
void fold_in_slices(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t prefilled,
                    bool is_placed);

// Puts chunk `index` of the payload into this rank's ring, which has room for it.
void stage(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t index) noexcept;

// The part of `count` elements that a rank folds for all.
struct Part {
    std::uint64_t offset;  // in bytes
    std::uint64_t count;   // in elements
};
Part part_of(int rank, int size, std::uint64_t count, std::uint64_t itemsize) noexcept;

}  // namespace cobre::shm
