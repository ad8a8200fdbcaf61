#include "shm/exchange.hpp"

#include <algorithm>

#include "comm/copy.hpp"

namespace cobre::shm {

namespace {

// What a core has just written is in a cache of its own, from which others get it slower than from the one they
// share. It is there a few chunks later.
constexpr std::uint64_t chunks_ahead = 6;

// Where ranks take turns on a core, each leaves as much as it can for the others' turns.
constexpr std::uint64_t all_chunks = 1ULL << 60;

}  // namespace

std::uint64_t Exchange::length(const Lane& lane, std::uint64_t index) const noexcept {
    return std::min(unit_, lane.bytes - index * unit_);
}

// The chunk goes into the ring and, while it is in the cache, to its place in this rank's own result.
void Exchange::fill_one() noexcept {
    Lane& lane = own();
    const std::uint64_t offset = lane.done * unit_;
    const std::uint64_t bytes = length(lane, lane.done);
    std::byte* chunk = team_.chunk(team_.group().rank, lane.done);
    if (lane.target != nullptr && !around_cache_.into_ring && !around_cache_.into_result) {
        comm::copy_to_both(chunk, lane.target + offset, lane.source + offset, bytes);
    } else {
        comm::copy_bytes(chunk, lane.source + offset, bytes, around_cache_.into_ring);
        if (lane.target != nullptr)
            comm::copy_bytes(lane.target + offset, lane.source + offset, bytes, around_cache_.into_result);
    }
    ++lane.done;
}

bool Exchange::can_fill() noexcept { return own().done < own().chunks && team_.has_room(own().done); }

// Whether to put in another chunk rather than to take one out.
bool Exchange::fills_first() noexcept {
    const std::uint64_t lead = team_.is_oversubscribed() ? all_chunks : chunks_ahead;
    for (int rank = 0; rank < team_.group().size; ++rank) {
        const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
        if (rank != team_.group().rank && lane.done < lane.chunks && own().done >= lane.done + lead) return false;
    }
    return can_fill();
}

void Exchange::fill_and_announce() noexcept {
    fill_one();
    team_.announce_filled(own().done);
}

std::uint64_t Exchange::prefill() noexcept {
    const std::uint64_t most = team_.is_oversubscribed() ? all_chunks : 1;
    Lane& lane = own();
    while (lane.done < std::min(lane.chunks, most) && team_.fits_early(lane.done)) fill_one();
    return lane.done;
}

bool Exchange::is_available(int rank) noexcept {
    Lane& lane = lanes_[static_cast<std::size_t>(rank)];
    if (lane.done < lane.ready) return true;
    lane.ready = std::max(lane.ready, team_.filled(rank));
    return lane.done < lane.ready;
}

bool Exchange::take_one(int rank) noexcept {
    Lane& lane = lanes_[static_cast<std::size_t>(rank)];
    if (!is_available(rank)) return false;
    comm::copy_bytes(lane.target + lane.done * unit_, team_.chunk(rank, lane.done), length(lane, lane.done),
                     around_cache_.into_result);
    ++lane.done;
    if (team_.asks_for_room(rank, lane.chunks)) team_.announce_taken(rank, lane.done);
    return true;
}

bool Exchange::can_move() noexcept {
    if (can_fill()) return true;
    for (int rank = 0; rank < team_.group().size; ++rank) {
        const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
        if (rank != team_.group().rank && lane.done < lane.chunks && is_available(rank)) return true;
    }
    return false;
}

// Whether this rank cannot finish without that one: its chunks have not all come, or it holds up the ring.
bool Exchange::is_awaited(int rank) noexcept {
    const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
    if (lane.done < lane.chunks && !is_available(rank)) return true;
    return own().done < own().chunks && team_.is_held_up_by(rank, own().done);
}

void Exchange::run() {
    const auto [me, size] = team_.group();
    for (;;) {
        while (fills_first()) fill_and_announce();
        bool has_moved = false;
        bool is_complete = true;
        for (int i = 1; i < size; ++i) {  // each rank begins with another, so that they do not queue for one ring
            const int rank = (me + i) % size;
            const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
            if (lane.done == lane.chunks) continue;
            if (take_one(rank)) has_moved = true;
            if (lane.done < lane.chunks) is_complete = false;
        }
        if (!has_moved && can_fill()) {
            fill_and_announce();
            has_moved = true;
        }
        if (is_complete && own().done == own().chunks) break;
        if (has_moved) team_.waiter().note_progress();
        else team_.waiter().for_any([&] { return can_move(); }, [&](int rank) { return is_awaited(rank); });
    }
    for (int rank = 0; rank < size; ++rank) team_.advance(rank, lanes_[static_cast<std::size_t>(rank)].chunks);
}

}  // namespace cobre::shm
