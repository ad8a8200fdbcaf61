#include "tcp/communicator.hpp"

#include <algorithm>
#include <limits>

#include "comm/error.hpp"
#include "comm/machine.hpp"
#include "tcp/socket.hpp"
#include "tcp/turn.hpp"

namespace cobre::tcp {

namespace {

using comm::Buffer;
using comm::Operation;

}  // namespace

Communicator::Communicator(comm::Group group, double timeout_s, Limits limits)
    : group_(group),
      limits_(limits),
      exchange_(group, timeout_s, limits, lifetime_, closing_),
      track_(group, "tcp") {}

Communicator::~Communicator() {
    close();
    if (!watcher_) return;
    if (!lifetime_.is_forked()) watcher_->join();
    else static_cast<void>(watcher_.release());  // the thread exists in the parent only: no join, no detach
}

void Communicator::start(MeetingResult met) {
    closing_.open();
    recheck_.open();
    const WaitPolicy policy = WaitPolicy::for_ranks(met.local_ranks, comm::usable_cpus());
    rings_.resize(met.links.size());
    is_unwatched_.resize(met.links.size());
    unanswered_since_.resize(met.links.size());
    // With two ranks, each sees the end of the other itself.
    if (group_.rank != 0 && group_.size > 2)
        for (const auto& link : met.links) link->hold_back();
    exchange_.adopt(std::move(met.links), policy);
    is_watched_ = group_.rank == 0 && group_.size > 1;
    if (is_watched_) watcher_ = std::make_unique<std::thread>([this] { watch(); });
}

void Communicator::begin(WireCall& call, Tag from_worker, Tag from_hub) {
    call.sequence = ++sequence_;
    const bool is_hub = group_.rank == 0;
    for (const auto& link : exchange_.links())
        link->begin(call, is_hub ? from_hub : from_worker, is_hub ? from_worker : from_hub);
}

void Communicator::finish(const WireCall& call, OwnPart own, Folding* folding, comm::Caller& caller) {
    try {
        exchange_.run(call, own, folding, caller);
    } catch (const Broken& broken) {
        fail_call(name_of(call.verb), broken);
    } catch (const comm::Interrupted&) {
        remember(name_of(call.verb),
                 {"rank " + std::to_string(group_.rank) + " was interrupted by a signal in " + call.describe(),
                  "start all ranks again"});
        send_failure_to_others(failure_->failure);
        throw;
    }
    note_closed_links();
}

void Communicator::allgatherv(const Buffer& send, const Buffer& recv, const comm::Layout& layout,
                              comm::Caller& caller) {
    const Turn turn(*this, "allgatherv", &caller);
    const comm::TraceScope traced(track_, statistics_[Operation::allgatherv], Operation::allgatherv);
    const comm::Stopwatch watch;
    WireCall call = comm::Call::allgatherv(send, layout.counts);
    begin(call, Tag::allgatherv_send, Tag::allgatherv_recv);
    const std::size_t width = recv.dtype.itemsize;
    const auto place = [&](int rank) {
        return recv.data + static_cast<std::size_t>(layout.displs[static_cast<std::size_t>(rank)]) * width;
    };
    const auto bytes = [&](int rank) {
        return static_cast<std::size_t>(layout.counts[static_cast<std::size_t>(rank)]) * width;
    };
    Links& links = exchange_.links();
    if (group_.rank != 0) {
        links[0]->outflow().add(send.data, send.bytes());
        for (int rank = 0; rank < group_.size; ++rank)
            if (rank != group_.rank) links[0]->inflow().add(place(rank), bytes(rank));
    } else {
        for (const auto& link : links) link->inflow().add(place(link->rank()), bytes(link->rank()));
        for (const auto& link : links) {
            link->outflow().add(send.data, send.bytes());
            // Passed on as it arrives, out of its final place here; no rank is sent its own part.
            for (const auto& other : links)
                if (other != link)
                    link->outflow().add(place(other->rank()), bytes(other->rank()), other->inflow().progress());
        }
    }
    finish(call, OwnPart(send.data, place(group_.rank), send.bytes()), nullptr, caller);
    count(Operation::allgatherv, call.total * width, watch);
}

void Communicator::allreduce(const Buffer& send, const Buffer& recv, comm::ReduceOp op, comm::Caller& caller) {
    const Turn turn(*this, "allreduce", &caller);
    const comm::TraceScope traced(track_, statistics_[Operation::allreduce], Operation::allreduce);
    const comm::Stopwatch watch;
    fold(comm::Call::allreduce(send, op), send, recv, op, caller);
    count(Operation::allreduce, recv.bytes(), watch);
}

std::span<std::byte> Communicator::ring_of(std::size_t link, const Buffer& buffer) {
    const std::size_t width = buffer.dtype.itemsize;
    const std::size_t wanted =
        std::min(buffer.bytes(), std::max(limits_.window_bytes - limits_.window_bytes % width, width));
    if (rings_[link].size() < wanted) rings_[link].resize(wanted);
    return std::span(rings_[link]).first(wanted);
}

void Communicator::fold(WireCall call, const Buffer& send, const Buffer& recv, comm::ReduceOp op,
                        comm::Caller& caller) {
    // Two ranks exchange their numbers and both fold; among more rank 0 folds and sends the result.
    const bool is_pair = group_.size == 2;
    begin(call, Tag::allreduce_send, is_pair ? Tag::allreduce_send : Tag::allreduce_recv);
    Links& links = exchange_.links();
    if (group_.size == 1) return finish(call, OwnPart(send.data, recv.data, send.bytes()), nullptr, caller);
    if (group_.rank != 0 && !is_pair) {
        links[0]->outflow().add(send.data, send.bytes());
        links[0]->inflow().add(recv.data, recv.bytes());
        return finish(call, {}, nullptr, caller);
    }
    Folding folding(group_, links, send, recv.data, op);
    for (std::size_t i = 0; i < links.size(); ++i) {
        links[i]->inflow().use_ring(ring_of(i, send), send.bytes());
        if (is_pair) links[i]->outflow().add(send.data, send.bytes());
        else links[i]->outflow().add(recv.data, recv.bytes(), folding.progress());
    }
    finish(call, {}, &folding, caller);
}

void Communicator::broadcast(const Buffer& buf, int root, comm::Caller& caller) {
    const Turn turn(*this, "broadcast", &caller);
    const comm::TraceScope traced(track_, statistics_[Operation::broadcast], Operation::broadcast);
    const comm::Stopwatch watch;
    WireCall call = comm::Call::broadcast(buf, root);
    begin(call, Tag::broadcast, Tag::broadcast);
    Links& links = exchange_.links();
    // The root of little data gives it and goes on; whoever receives it may say so later.
    if (buf.bytes() <= always_fits) {
        for (const auto& link : links) {
            if (group_.rank == root || (group_.rank == 0 && link->rank() != root)) link->confirm_later(call);
            else if (group_.rank != 0) link->answer_later(call);
        }
    }
    if (group_.rank != 0) {
        if (group_.rank == root) links[0]->outflow().add(buf.data, buf.bytes());
        else links[0]->inflow().add(buf.data, buf.bytes());
    } else {
        const std::size_t* arrived = nullptr;
        for (const auto& link : links) {
            if (link->rank() != root) continue;
            link->inflow().add(buf.data, buf.bytes());
            arrived = link->inflow().progress();
        }
        for (const auto& link : links)
            if (link->rank() != root) link->outflow().add(buf.data, buf.bytes(), arrived);
    }
    finish(call, {}, nullptr, caller);
    count(Operation::broadcast, buf.bytes(), watch);
}

void Communicator::barrier(comm::Caller& caller) {
    const Turn turn(*this, "barrier", &caller);
    const comm::TraceScope traced(track_, statistics_[Operation::barrier], Operation::barrier);
    const comm::Stopwatch watch;
    WireCall call = comm::Call::of(comm::Verb::barrier);
    begin(call, Tag::barrier_ready, Tag::barrier_go);
    finish(call, {}, nullptr, caller);
    count(Operation::barrier, 0, watch);
}

void Communicator::split_local(comm::Caller& caller) {
    const Turn turn(*this, "split_local", &caller);
    WireCall call = comm::Call::of(comm::Verb::split_local);
    begin(call, Tag::barrier_ready, Tag::barrier_go);
    finish(call, {}, nullptr, caller);
}

int Communicator::agree_on_region(std::uint64_t count, const comm::DType& dtype, bool can, comm::Caller& caller) {
    const Turn turn(*this, "create_shared_region", &caller);
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t mine = can ? none : group_.rank;
    std::int64_t lowest = none;
    const comm::DType number{comm::Kind::signed_int, false, sizeof mine, 0};
    fold(comm::Call::create_region(count, dtype), {reinterpret_cast<std::byte*>(&mine), 1, number, true},
         {reinterpret_cast<std::byte*>(&lowest), 1, number, false}, comm::ReduceOp::min, caller);
    return lowest == none ? -1 : static_cast<int>(lowest);
}

void Communicator::count(Operation operation, std::size_t bytes, const comm::Stopwatch& watch) {
    const double spent_s = watch.seconds();
    comm::OperationStatistics& entry = statistics_[operation];
    entry.calls += 1;
    entry.bytes += bytes;
    entry.wait_s += exchange_.waited_s();
    entry.move_s += std::max(0.0, spent_s - exchange_.waited_s());
}

void Communicator::close() noexcept {
    lifetime_.close();
    if (lifetime_.is_forked()) return;
    const std::lock_guard guard(state_mutex_);
    closing_.signal();
    is_leaving_ = true;
    if (!is_busy_) leave();
}

// The caller holds `state_mutex_`.
void Communicator::leave() noexcept {
    for (const auto& link : exchange_.links()) link->leave();
    if (is_watched_) return;  // the watcher sleeps on the bells, and closes them when it goes
    closing_.close();
    recheck_.close();
}

}  // namespace cobre::tcp
