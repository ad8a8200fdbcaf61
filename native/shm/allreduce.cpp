// The allreduce of a communicator: in the slots, through the rings, or read from the memory of the other ranks.
#include <algorithm>
#include <cstring>
#include <new>

#include "comm/copy.hpp"
#include "comm/fold.hpp"
#include "shm/communicator.hpp"
#include "shm/timed.hpp"
#include "shm/trip.hpp"

namespace cobre::shm {

namespace {

// Inputs and rings need room in the caches beside the result.
constexpr std::uint64_t sum_larger_than_caches = 4ULL << 20;

// What fold_directly reads of all ranks at a time: it stays in the second-level cache.
constexpr std::uint64_t folded_at_once = 512 * 1024;

// Whole elements only, so that every chunk can be folded.
std::uint64_t fold_unit(const Limits& limits, const comm::DType& dtype) noexcept {
    return limits.chunk_bytes / dtype.itemsize * dtype.itemsize;
}

}  // namespace

void Communicator::allreduce(const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op,
                             comm::Caller& caller) {
    const auto [me, size] = group();
    const std::uint64_t bytes = send.bytes();
    const Timed timed(team_.waiter(), statistics_, track_, comm::Operation::allreduce, bytes);
    const PackedCall call(comm::Call::allreduce(send, op));
    team_.begin(call, caller);
    Trip trip(paths_, Paths::Pattern::reduce, bytes, may_read(bytes));
    const Reduction reduction{send.data,
                              recv.data,
                              static_cast<std::uint64_t>(send.count),
                              send.dtype,
                              op,
                              trip.is_around_cache(),
                              bytes >= sum_larger_than_caches};
    const std::uint64_t place = regions_.place_of(recv.data, bytes);
    if (size == 1) {
        comm::copy_bytes(recv.data, send.data, bytes);
        return;
    }
    const std::uint64_t unit = fold_unit(team_.limits(), send.dtype);
    std::uint64_t prefilled = 0;
    if (place == 0 && bytes <= team_.limits().inline_bytes) {
        std::memcpy(team_.my_payload(), send.data, bytes);
        team_.publish(call, PackedCall::is_inline);
        team_.agree(call);
        if (team_.all_have(PackedCall::is_inline)) {
            for (int rank = 0; rank < size; ++rank) rows_[at(rank)] = team_.payload(rank);
            comm::fold_in_rank_order(rows_, reduction.count, send.dtype, op, recv.data);
            return;
        }
    } else {
        team_.open_ring(me, std::min(unit, bytes));
        if (trip.path() != Path::direct && team_.fits_early(0)) stage(team_, reduction, unit, prefilled++);
        team_.put({place, address_of(send.data), address_of(recv.data), prefilled, trip.next()});
        const bool keeps_input = send.data != recv.data;
        team_.publish(call, (place != 0 ? PackedCall::is_placed : 0) | (keeps_input ? PackedCall::is_ready : 0));
        trip.pause();
        team_.agree(call);
        trip.go_on(team_, 0);
    }
    for (int rank = 0; rank < size; ++rank) team_.open_ring(rank, std::min(unit, bytes));
    const bool is_placed = all_at(place);
    const bool is_shared_work =
        bytes > team_.limits().inline_bytes && (is_placed || (size > 2 && bytes >= team_.limits().slice_bytes));
    // A read that fails half-way must find the input as it was.
    const bool is_direct = trip.path() == Path::direct && !is_placed && team_.all_have(PackedCall::is_ready);
    const bool is_done = is_direct && fold_directly(call, reduction);
    if (!is_done && is_shared_work) fold_in_slices(team_, reduction, unit, prefilled, is_placed);
    if (!is_done && !is_shared_work) fold_everything(team_, reduction, unit, prefilled, !is_placed || me == 0);
    if (is_placed && !is_shared_work) finish_step(call, true);  // rank 0 has written for all
    trip.arrive();
}

// Each rank reads its part of all inputs, folds it, and reads the other parts where they were folded. False, on
// all ranks, if one of them could not: then the inputs are as they were, and the rings do it.
bool Communicator::fold_directly(const PackedCall& call, const Reduction& reduction) {
    const auto [me, size] = group();
    const std::uint64_t item = reduction.dtype.itemsize;
    const std::uint64_t step = std::max<std::uint64_t>(1, folded_at_once / at(size) / item);
    const Part mine = part_of(me, size, reduction.count, item);
    bool is_well = true;
    std::vector<Offer> offers;  // publishing the next step ends the slots of this one
    try {
        for (int rank = 0; rank < size; ++rank) offers.push_back(team_.offer(rank));
        others_.resize(at(size) * step * item);
    } catch (const std::bad_alloc&) {
        is_well = false;
    }
    for (std::uint64_t done = 0; done < mine.count && is_well; done += step) {
        const std::uint64_t count = std::min(step, mine.count - done);
        const std::uint64_t offset = mine.offset + done * item;
        for (int rank = 0; rank < size && is_well; ++rank) {
            std::byte* row = others_.data() + at(rank) * step * item;
            rows_[at(rank)] = rank == me ? reduction.send + offset : row;
            if (rank != me) is_well = read_from(rank, offers[at(rank)].address + offset, row, count * item);
        }
        if (is_well)
            comm::fold_in_rank_order(rows_, count, reduction.dtype, reduction.op, reduction.recv + offset, true);
    }
    finish_step(call, is_well);
    if (!team_.all_have(PackedCall::is_ready)) return false;
    for (int i = 1; i < size && is_well; ++i) {
        const int rank = (me + i) % size;
        const auto [offset, count] = part_of(rank, size, reduction.count, item);
        is_well = read_from(rank, offers[at(rank)].result + offset, reduction.recv + offset, count * item);
    }
    finish_step(call, is_well);  // no rank reads this rank's part any more
    return team_.all_have(PackedCall::is_ready);
}

}  // namespace cobre::shm
