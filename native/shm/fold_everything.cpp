#include <algorithm>
#include <vector>

#include "comm/copy.hpp"
#include "comm/fold.hpp"
#include "shm/exchange.hpp"

namespace cobre::shm {

namespace {

// What is known of one rank's input.
struct Input {
    bool is_inline = false;
    std::uint64_t ready = 0;  // chunks known to be in its ring
};

Input input_of(const Team& team, int rank) noexcept {
    if ((team.flags(rank) & PackedCall::is_inline) != 0) return {true, 0};
    return {false, team.offer(rank).prefilled};
}

}  // namespace

void stage(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t index) noexcept {
    const std::uint64_t bytes = std::min(unit, reduction.bytes() - index * unit);
    comm::copy_bytes(team.chunk(team.group().rank, index), reduction.send + index * unit, bytes,
                     reduction.ring_around_cache);
}

void fold_everything(Team& team, const Reduction& reduction, std::uint64_t unit, std::uint64_t prefilled,
                     bool writes) {
    const auto [me, size] = team.group();
    const std::uint64_t chunks = Exchange::chunks_of(reduction.bytes(), unit);
    std::vector<const std::byte*> rows(static_cast<std::size_t>(size));
    std::vector<Input> inputs(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) inputs[static_cast<std::size_t>(rank)] = input_of(team, rank);

    std::uint64_t staged = inputs[static_cast<std::size_t>(me)].is_inline ? chunks : prefilled;
    std::uint64_t index = 0;
    const auto can_stage = [&] { return staged < chunks && staged < index + 2 && team.has_room(staged); };
    const auto stage_ahead = [&] {
        while (can_stage()) {
            stage(team, reduction, unit, staged);
            team.announce_filled(++staged);
        }
    };
    for (; index < chunks; ++index) {
        stage_ahead();
        // In place, the fold overwrites what must be in the ring by then; and who leaves has contributed
        // everything.
        while (staged <= index) {
            team.waiter().for_any(can_stage,
                                  [&](int rank) { return rank != me && team.is_held_up_by(rank, staged); });
            stage_ahead();
        }
        for (int rank = 0; rank < size; ++rank) {
            Input& input = inputs[static_cast<std::size_t>(rank)];
            const std::byte*& row = rows[static_cast<std::size_t>(rank)];
            if (rank == me) {  // where the caller keeps it
                row = reduction.send + index * unit;
                continue;
            }
            row = input.is_inline ? team.payload(rank) : team.chunk(rank, index);
            // While that rank's chunk has not come, it may itself be waiting for mine, so staging goes on.
            const auto has_come = [&] {
                return input.is_inline || input.ready > index || (input.ready = team.filled(rank)) > index;
            };
            while (!has_come()) {
                team.waiter().for_any([&] { return has_come() || can_stage(); },
                                      [rank](int other) { return other == rank; });
                stage_ahead();
            }
        }
        const std::uint64_t bytes = std::min(unit, reduction.bytes() - index * unit);
        if (writes)
            comm::fold_in_rank_order(rows, bytes / reduction.dtype.itemsize, reduction.dtype, reduction.op,
                                     reduction.recv + index * unit, reduction.result_around_cache);
        team.waiter().note_progress();
        for (int rank = 0; rank < size; ++rank)
            if (rank != me && !inputs[static_cast<std::size_t>(rank)].is_inline &&
                team.asks_for_room(rank, chunks))
                team.announce_taken(rank, index + 1);
    }
    for (int rank = 0; rank < size; ++rank)
        team.advance(rank, inputs[static_cast<std::size_t>(rank)].is_inline ? 0 : chunks);
}

}  // namespace cobre::shm
