// The communicator of ranks that reach each other over TCP: a star around rank 0.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/arguments.hpp"
#include "comm/lifetime.hpp"
#include "comm/statistics.hpp"
#include "comm/trace.hpp"
#include "tcp/exchange.hpp"
#include "tcp/meeting_config.hpp"
#include "tcp/wake_event.hpp"

namespace cobre::tcp {

class Communicator {
public:
    Communicator(comm::Group group, double timeout_s, Limits limits);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    // Once, before anything else, unless the group has one rank.
    void start(MeetingResult met);

    // Arguments have been checked. Any thread may call; calls take turns. They throw comm::Error or `Interrupted`.
    void allgatherv(const comm::Buffer& send, const comm::Buffer& recv, const comm::Layout& layout,
                    comm::Caller& caller);
    void allreduce(const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op, comm::Caller& caller);
    void broadcast(const comm::Buffer& buf, int root, comm::Caller& caller);
    void barrier(comm::Caller& caller);
    void split_local(comm::Caller& caller);
    // Whether every rank `can` have a region of `count` elements; the lowest rank that cannot, or -1.
    int agree_on_region(std::uint64_t count, const comm::DType& dtype, bool can, comm::Caller& caller);

    // Never waits. A call of another thread that is under way fails soon.
    void close() noexcept;

    comm::Group group() const noexcept { return group_; }
    comm::Lifetime& lifetime() noexcept { return lifetime_; }
    const comm::Statistics& statistics() const noexcept { return statistics_; }

private:
    struct KnownFailure {
        std::string operation;
        comm::Failure failure;
    };
    class Turn;

    // Starts the step on every link. Rank 0 sends under `from_hub`, the others under `from_worker`.
    void begin(WireCall& call, Tag from_worker, Tag from_hub);
    void finish(const WireCall& call, OwnPart own, Folding* folding, comm::Caller& caller);
    void fold(WireCall call, const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op,
              comm::Caller& caller);
    void count(comm::Operation operation, std::size_t bytes, const comm::Stopwatch& watch);
    std::span<std::byte> ring_of(std::size_t link, const comm::Buffer& buffer);

    [[noreturn]] void fail_call(const char* operation, const Broken& broken);
    void remember(const char* operation, comm::Failure failure);
    void send_failure_to_others(const comm::Failure& failure) noexcept;
    [[noreturn]] void repeat_failure(const char* operation);
    void note_closed_links();
    void leave() noexcept;

    void watch() noexcept;
    void watch_until_closed();
    void check_closed_links();
    void drop_unresponsive_links();

    comm::Group group_;
    comm::Lifetime lifetime_;
    Limits limits_;
    WakeEvent closing_;
    WakeEvent recheck_;
    Exchange exchange_;
    std::uint32_t sequence_ = 0;
    std::vector<std::vector<std::byte>> rings_;
    std::optional<KnownFailure> failure_;
    std::vector<bool> is_unwatched_;
    std::vector<std::optional<std::chrono::steady_clock::time_point>> unanswered_since_;

    std::timed_mutex calls_;                   // one call, or the watcher, at a time
    std::atomic<std::thread::id> owner_ = {};  // of `calls_`; relaxed: a thread asks only whether it is itself
    std::mutex state_mutex_;                   // guards the next three, for an instant only
    bool is_watched_ = false;
    bool is_busy_ = false;
    bool is_leaving_ = false;
    comm::Statistics statistics_;
    comm::Track track_;
    std::unique_ptr<std::thread> watcher_;
};

}  // namespace cobre::tcp
