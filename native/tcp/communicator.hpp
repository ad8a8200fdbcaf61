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

namespace cobre::tcp {

class Communicator {
public:
    Communicator(comm::Group group, double timeout_s, Limits limits);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    // Once, before anything else, unless the group has one rank.
    void start(Met met);

    // Arguments have been checked. Any thread may call; calls take turns. They throw comm::Error or `Interrupted`.
    void allgatherv(const comm::Buffer& send, const comm::Buffer& recv, const comm::Layout& layout,
                    Caller& caller);
    void allreduce(const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op, Caller& caller);
    void broadcast(const comm::Buffer& buf, int root, Caller& caller);
    void barrier(Caller& caller);
    void split_local(Caller& caller);
    // Whether every rank `can` have a region of `count` elements; the lowest rank that cannot, or -1.
    int agree_on_region(std::uint64_t count, const comm::DType& dtype, bool can, Caller& caller);

    // Never waits. A call of another thread that is under way fails soon.
    void close() noexcept;

    comm::Group group() const noexcept { return group_; }
    comm::Lifetime& lifetime() noexcept { return lifetime_; }
    const comm::Statistics& statistics() const noexcept { return statistics_; }

private:
    struct Remembered {
        std::string operation;
        Failure failure;
    };
    class Turn;

    // Starts the step on every link. Rank 0 sends under `from_hub`, the others under `from_worker`.
    void begin(Call& call, Tag from_worker, Tag from_hub);
    void finish(const Call& call, OwnPart own, Folding* folding, Caller& caller);
    void fold(Call call, const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op, Caller& caller);
    void count(comm::Operation operation, std::size_t bytes, const comm::Stopwatch& watch);
    std::span<std::byte> ring_of(std::size_t link, const comm::Buffer& buffer);

    [[noreturn]] void break_down(const char* operation, const Broken& broken);
    void remember(const char* operation, Failure failure);
    void tell_others(const Failure& failure) noexcept;
    [[noreturn]] void repeat_failure(const char* operation);
    void note_departures();
    void leave() noexcept;

    void watch() noexcept;
    void watch_until_closed();
    void examine_departed();
    void give_up_the_silent();

    comm::Group group_;
    comm::Lifetime lifetime_;
    Limits limits_;
    Bell bell_;
    Bell look_again_;
    Exchange exchange_;
    std::uint32_t sequence_ = 0;
    std::vector<std::vector<std::byte>> rings_;
    std::optional<Remembered> failure_;
    std::vector<bool> is_unwatched_;
    std::vector<std::optional<std::chrono::steady_clock::time_point>> unanswered_since_;

    std::timed_mutex calls_;                   // one call, or the watcher, at a time
    std::atomic<std::thread::id> owner_ = {};  // of `calls_`; relaxed: a thread asks only whether it is itself
    std::mutex door_;                          // guards the next three, for an instant only
    bool is_watched_ = false;
    bool is_busy_ = false;
    bool is_leaving_ = false;
    comm::Statistics statistics_;
    comm::Track track_;
    std::unique_ptr<std::thread> watcher_;
};

}  // namespace cobre::tcp
