#include <algorithm>
#include <vector>

#include "comm/copy.hpp"
#include "comm/fold.hpp"
#include "shm/exchange.hpp"

namespace cobre::shm {

namespace {

// Three counters run after each other through the chunks: staged (my input is in my ring), folded (my part of the
// result is, too), fetched (all parts are in recv). A part is folded into the ring chunk it came from: no other
// rank reads that place before it is announced.
class Slices {
public:
    Slices(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t prefilled, bool is_placed)
        : team_(team),
          reduction_(reduction),
          unit_(unit),
          is_placed_(is_placed),
          chunks_(Exchange::chunks_of(reduction.bytes(), unit)),
          staged_(prefilled),
          rows_(static_cast<std::size_t>(team.group().size)) {}

    void run() {
        while (fetched_ < chunks_) {
            const bool has_moved = fetch_one() || fold_one() || stage_one();
            if (has_moved) team_.waiter().note_progress();
            else team_.waiter().for_any([&] { return can_move(); }, [&](int rank) { return is_awaited(rank); });
        }
        for (int rank = 0; rank < team_.group().size; ++rank) team_.advance(rank, chunks_);
    }

private:
    Part part(std::uint64_t index, int rank) const noexcept {
        const std::uint64_t bytes = std::min(unit_, reduction_.bytes() - index * unit_);
        const std::uint64_t itemsize = reduction_.dtype.itemsize;
        return part_of(rank, team_.group().size, bytes / itemsize, itemsize);
    }

    bool can_stage() noexcept { return staged_ < chunks_ && team_.has_room(staged_); }
    bool has_input(int rank) const noexcept {
        return rank == team_.group().rank ? staged_ > folded_
                                          : team_.offer(rank).prefilled > folded_ || team_.filled(rank) > folded_;
    }
    bool has_result(int rank) const noexcept {
        return rank == team_.group().rank ? folded_ > fetched_ : team_.folded(rank) > fetched_;
    }
    template <class Condition>
    bool holds_for_all(Condition condition) const noexcept {
        for (int rank = 0; rank < team_.group().size; ++rank)
            if (!condition(rank)) return false;
        return true;
    }
    bool can_fold() const noexcept {
        return folded_ < chunks_ && holds_for_all([&](int rank) { return has_input(rank); });
    }
    bool can_fetch() const noexcept {
        return fetched_ < chunks_ && holds_for_all([&](int rank) { return has_result(rank); });
    }
    bool can_move() noexcept { return can_fetch() || can_fold() || can_stage(); }

    bool is_awaited(int rank) noexcept {
        if (fetched_ < folded_ && !has_result(rank)) return true;
        if (folded_ < staged_ && !has_input(rank)) return true;
        return staged_ < chunks_ && team_.is_held_up_by(rank, staged_);
    }

    bool stage_one() noexcept {
        if (!can_stage()) return false;
        stage(team_, reduction_, unit_, staged_);
        team_.announce_filled(++staged_);
        return true;
    }

    bool fold_one() noexcept {
        if (!can_fold()) return false;
        const int me = team_.group().rank;
        const auto [offset, count] = part(folded_, me);
        for (int rank = 0; rank < team_.group().size; ++rank)
            rows_[static_cast<std::size_t>(rank)] = team_.chunk(rank, folded_) + offset;
        std::byte* result = reduction_.recv + folded_ * unit_ + offset;
        comm::fold_in_rank_order(rows_, count, reduction_.dtype, reduction_.op, result);
        if (!is_placed_)
            comm::copy_bytes(team_.chunk(me, folded_) + offset, result, count * reduction_.dtype.itemsize,
                             reduction_.ring_around_cache);
        team_.announce_folded(++folded_);
        return true;
    }

    bool fetch_one() noexcept {
        if (!can_fetch()) return false;
        const int me = team_.group().rank;
        for (int i = 1; i < team_.group().size; ++i) {
            const int rank = (me + i) % team_.group().size;
            const auto [offset, count] = part(fetched_, rank);
            if (!is_placed_)
                comm::copy_bytes(reduction_.recv + fetched_ * unit_ + offset, team_.chunk(rank, fetched_) + offset,
                                 count * reduction_.dtype.itemsize);
            if (team_.asks_for_room(rank, chunks_)) team_.announce_taken(rank, fetched_ + 1);
        }
        ++fetched_;
        return true;
    }

    Team& team_;
    const Reduction& reduction_;
    std::uint64_t unit_;
    bool is_placed_;
    std::uint64_t chunks_;
    std::uint64_t staged_;
    std::uint64_t folded_ = 0;
    std::uint64_t fetched_ = 0;
    std::vector<const std::byte*> rows_;
};

}  // namespace

Part part_of(int rank, int size, std::uint64_t count, std::uint64_t itemsize) noexcept {
    const auto r = static_cast<std::uint64_t>(rank);
    const auto n = static_cast<std::uint64_t>(size);
    // count * r / n, without the product of two large numbers
    const auto begin_of = [&](std::uint64_t i) { return count / n * i + count % n * i / n; };
    return {begin_of(r) * itemsize, begin_of(r + 1) - begin_of(r)};
}

void fold_in_slices(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t prefilled,
                    bool is_placed) {
    Slices(team, reduction, unit, prefilled, is_placed).run();
}

}  // namespace cobre::shm
