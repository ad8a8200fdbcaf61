#include "shm/communicator.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "comm/copy.hpp"
#include "shm/direct_read.hpp"
#include "shm/timed.hpp"
#include "shm/trip.hpp"

namespace cobre::shm {

namespace {

constexpr std::uint64_t larger_than_caches = 16ULL << 20;

// Between two looks at whether the group has failed, and two signs of life.
constexpr std::uint64_t read_step = 8ULL << 20;

// Payloads that fit into a slot: most are one number, for which a call of memcpy takes longer than the copy.
void copy_few(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    if (bytes == sizeof(std::uint64_t)) [[likely]]
        std::memcpy(to, from, sizeof(std::uint64_t));
    else if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

void Communicator::close() noexcept {
    if (lifetime_.is_closed()) return;
    lifetime_.close();
    if (lifetime_.is_forked()) return;  // the group is the parent's
    // Release pairs with the acquire in Waiter::check_peers: all that this rank contributed comes before it.
    team_.entry(group().rank).state.store(RankState::closed, std::memory_order_release);
    team_.waiter().wake_all();
}

void Communicator::barrier(comm::Caller& caller) {
    const Timed timed(team_.waiter(), statistics_, track_, comm::Operation::barrier, 0);
    const PackedCall call(comm::Call::of(comm::Verb::barrier));
    team_.begin(call, caller);
    team_.publish(call, 0);
    team_.agree(call);
}

std::uint64_t Communicator::place_of(const comm::Buffer& recv, const comm::Layout& layout) const noexcept {
    std::uint64_t place = regions_.place_of(recv.data, recv.bytes());
    if (place == 0) return 0;
    for (const std::int64_t displ : layout.displs) place = mix_place(place, static_cast<std::uint64_t>(displ));
    return place;
}

bool Communicator::all_at(std::uint64_t place) const noexcept {
    if (place == 0) return false;
    for (int rank = 0; rank < group().size; ++rank)
        if ((team_.flags(rank) & PackedCall::is_placed) == 0 || team_.offer(rank).place != place) return false;
    return true;
}

void Communicator::finish_step(const PackedCall& call, bool is_well, const Offer& offer) {
    team_.begin_step();
    team_.put(offer);  // also an empty one: what the slot carried two steps ago is not about this one
    team_.publish(call, is_well ? PackedCall::is_ready : 0);
    team_.agree(call);
    // Who gives up while it waits here has published, and its caller may do with its memory as it likes while it
    // is still being read. The fence pairs with the one in Waiter::record: who has read any of that finds the
    // failure.
    std::atomic_thread_fence(std::memory_order_acquire);
    team_.require_well();
}

void Communicator::allgatherv(const comm::Buffer& send, const comm::Buffer& recv, const comm::Layout& layout,
                              comm::Caller& caller) {
    const auto [me, size] = group();
    const std::uint64_t item = recv.dtype.itemsize;
    const auto total =
        static_cast<std::uint64_t>(std::accumulate(layout.counts.begin(), layout.counts.end(), std::int64_t{0})) *
        item;
    const Timed timed(team_.waiter(), statistics_, track_, comm::Operation::allgatherv, total);
    const PackedCall call(comm::Call::allgatherv(send, layout.counts));
    team_.begin(call, caller);

    for (int rank = 0; rank < size; ++rank)
        lanes_[at(rank)] = {nullptr, recv.data + static_cast<std::uint64_t>(layout.displs[at(rank)]) * item,
                            static_cast<std::uint64_t>(layout.counts[at(rank)]) * item};
    Lane& own = lanes_[at(me)];
    own.source = send.data;
    const bool is_in_place = own.target == own.source;
    const std::uint64_t place = place_of(recv, layout);
    if (size == 1) {
        comm::copy_bytes(own.target, own.source, own.bytes);
        return;
    }
    Trip trip(paths_, Paths::Pattern::gather, total, may_read(total));
    if (place == 0 && own.bytes <= team_.limits().inline_bytes) {
        copy_few(team_.my_payload(), own.source, own.bytes);
        team_.publish(call, PackedCall::is_inline);
    } else {
        if (is_in_place) own.target = nullptr;
        Offer offer{place, address_of(own.source), 0, 0, trip.next()};
        if (place == 0 && trip.path() != Path::direct) {
            open_ring(me);
            offer.prefilled = Exchange(team_, lanes_, team_.limits().chunk_bytes,
                                       {trip.is_around_cache(), total >= larger_than_caches})
                                  .prefill();
        }
        team_.put(offer);
        team_.publish(call, (place != 0 ? PackedCall::is_placed : 0) | (is_in_place ? PackedCall::is_ready : 0));
    }
    trip.pause();
    team_.agree(call);
    trip.go_on(team_, 0);

    if (all_at(place)) {  // one copy of the result for all: each rank writes its part once everybody is here
        if (team_.all_have(PackedCall::is_ready)) return;
        if (!is_in_place) {
            comm::copy_bytes(own.target, own.source, own.bytes, total >= larger_than_caches);
        }
        return finish_step(call, true);
    }
    if (team_.all_have(PackedCall::is_inline)) {
        for (int rank = 0; rank < size; ++rank) {
            const Lane& lane = lanes_[at(rank)];
            if (rank != me) copy_few(lane.target, team_.payload(rank), lane.bytes);
            else if (!is_in_place) copy_few(lane.target, lane.source, lane.bytes);
        }
        return;
    }
    move_lanes(call, total, trip.path());
    trip.arrive();
}

// Lays the lane's chunks into its ring.
void Communicator::open_ring(int rank) noexcept {
    Lane& lane = lanes_[at(rank)];
    lane.chunks = Exchange::chunks_of(lane.bytes, team_.limits().chunk_bytes);
    if (lane.chunks != 0) team_.open_ring(rank, std::min(lane.bytes, team_.limits().chunk_bytes));
}

void Communicator::move_lanes(const PackedCall& call, std::uint64_t total, Path path) {
    const std::uint64_t unit = team_.limits().chunk_bytes;
    const int me = group().rank;
    bool needs_rings = false;
    for (int rank = 0; rank < group().size; ++rank) {
        Lane& lane = lanes_[at(rank)];
        if ((team_.flags(rank) & PackedCall::is_inline) != 0) {
            lane.chunks = 0;
            const std::byte* from = rank == me ? lane.source : team_.payload(rank);
            if (lane.bytes != 0 && lane.target != nullptr && lane.target != from)
                std::memcpy(lane.target, from, lane.bytes);
        } else {
            open_ring(rank);
            needs_rings |= lane.chunks != 0;
            if (rank != me) lane.ready = team_.offer(rank).prefilled;
        }
    }
    if (!needs_rings) return;
    const bool is_large = total >= larger_than_caches;
    if (path == Path::direct && read_lanes(call, is_large)) return;
    Exchange(team_, lanes_, unit, {path == Path::rings_around_cache, is_large}).run();
}

// False when the kernel refuses.
bool Communicator::read_from(int rank, std::uint64_t address, std::byte* to, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes; done += read_step) {
        team_.require_well();
        const std::uint64_t part = std::min(read_step, bytes - done);
        if (!read_memory(team_.entry(rank).identity, address + done, to + done, part)) return false;
        team_.announce_read();
    }
    return true;
}

// One copy straight from the other ranks' memory. False, on all ranks, if one of them could not: then nothing that
// this rank has is lost, and the rings do it.
bool Communicator::read_lanes(const PackedCall& call, bool around_cache) {
    const auto [me, size] = group();
    Lane& own = lanes_[at(me)];
    if (own.chunks != 0 && own.target != nullptr)
        comm::copy_bytes(own.target, own.source, own.bytes, around_cache);
    bool is_well = true;
    for (int i = 1; i < size && is_well; ++i) {
        const int rank = (me + i) % size;
        const Lane& lane = lanes_[at(rank)];
        if (lane.chunks == 0 || lane.target == nullptr) continue;
        is_well = read_from(rank, team_.offer(rank).address, lane.target, lane.bytes);
    }
    finish_step(call, is_well);
    return team_.all_have(PackedCall::is_ready);
}

void Communicator::broadcast(const comm::Buffer& buf, int root, comm::Caller& caller) {
    const auto [me, size] = group();
    const std::uint64_t bytes = buf.bytes();
    const Timed timed(team_.waiter(), statistics_, track_, comm::Operation::broadcast, bytes);
    const PackedCall call(comm::Call::broadcast(buf, root));
    team_.begin(call, caller);
    const std::uint64_t place = regions_.place_of(buf.data, bytes);
    std::uint32_t flags = place != 0 ? PackedCall::is_placed : 0;
    Trip trip(paths_, Paths::Pattern::broadcast, bytes, may_read(bytes));
    Offer offer{place, address_of(buf.data), 0, 0, trip.next()};

    std::fill(lanes_.begin(), lanes_.end(), Lane{});
    Lane& lane = lanes_[at(root)];
    lane.bytes = bytes;
    if (me != root) lane.target = buf.data;
    else lane.source = buf.data;
    if (me == root && place == 0 && bytes <= team_.limits().inline_bytes) {
        if (bytes != 0) std::memcpy(team_.my_payload(), buf.data, bytes);
        flags |= PackedCall::is_inline;
    } else {
        if (me == root && place == 0 && size > 1 && trip.path() != Path::direct) {
            open_ring(me);
            offer.prefilled =
                Exchange(team_, lanes_, team_.limits().chunk_bytes, {trip.is_around_cache(), false}).prefill();
        }
        team_.put(offer);
    }
    team_.publish(call, flags);
    trip.pause();
    team_.agree(call);
    trip.go_on(team_, (root + 1) % size);  // one that receives: the root is done before the others are
    if (size == 1 || all_at(place)) return;
    move_lanes(call, bytes, trip.path());
    trip.arrive();
}

}  // namespace cobre::shm
