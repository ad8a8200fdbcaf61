// Waiting for other ranks: a moment of spinning while every rank can have a core, then yielding, then sleep. With
// more ranks than cores, only while none of those awaited needs the core that this one is on.
//
// Only the sleeping part looks for trouble (a dead rank, the deadline, Ctrl-C), so that waiting which ends in
// microseconds pays for none of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "comm/caller.hpp"
#include "comm/lifetime.hpp"
#include "shm/failure.hpp"
#include "shm/function_ref.hpp"
#include "shm/layout.hpp"
#include "shm/packed_call.hpp"

namespace cobre::shm {

// How long a call waits without anything having moved, and what to do about it.
struct TimeLimit {
    double seconds = 0.0;
    const char* fix = "";

    static TimeLimit of_call(double seconds) noexcept {
        return {seconds, "see what keeps it, or allow more time: COBRE_SHM_TIMEOUT_SECS or ShmConfig(timeout=…)"};
    }
    static TimeLimit of_start(double seconds) noexcept {
        return {seconds,
                "see what keeps it, or allow more time: COBRE_SHM_CONNECT_TIMEOUT_MS or "
                "ShmConfig(connect_timeout=…)"};
    }
};

struct WaitPolicy {
    int spins = 0;
    int yields = 0;
    bool is_oversubscribed = true;  // more ranks than cores

    // A barrier between publishing and looking for sleepers; otherwise a rank that goes to sleep makes all others
    // execute one.
    bool publishers_fence = true;

    // Spinning pays only while no other thread spins on the core that the awaited rank needs. With cores for all,
    // few sleep and many publish; otherwise it is the other way round, which decides who pays for the barrier.
    static WaitPolicy for_group(bool is_oversubscribed, bool have_barriers) noexcept;
};

class Waiter {
public:
    Waiter(const Layout& layout, comm::Group group, const TimeLimit& limit,
           const comm::Lifetime& lifetime) noexcept
        : layout_(layout), group_(group), limit_(limit), lifetime_(lifetime) {}

    void set_limit(const TimeLimit& limit) noexcept { limit_ = limit; }
    void set_policy(WaitPolicy patience) noexcept { policy_ = patience; }

    // Every call begins with this; `call` and `caller` must outlive it.
    void begin(std::uint64_t sequence, const PackedCall& call, comm::Caller& caller) noexcept {
        sequence_ = sequence;
        call_ = &call;
        caller_ = &caller;
        is_counting_ = false;
        waited_s_ = 0.0;
    }
    // The next step of the same call.
    void advance(std::uint64_t sequence) noexcept { sequence_ = sequence; }
    // Data has moved: the timeout counts from here.
    void note_progress() noexcept { is_counting_ = false; }
    double waited_s() const noexcept { return waited_s_; }

    // Returns once `ready()` is true, which is `peer`'s doing. All ranks with `awaits(rank)` are still needed:
    // their death ends the wait, and a timeout names them.
    template <class Ready, class Awaits>
    void for_rank(int peer, Ready&& ready, Awaits&& awaits) {
        if (is_ready_soon(ready)) [[likely]]
            return;
        wait_slowly(ready, awaits, static_cast<std::uint32_t>(peer) + 1);
    }

    // The same when any of those ranks may bring it about.
    template <class Ready, class Awaits>
    void for_any(Ready&& ready, Awaits&& awaits) {
        if (is_ready_soon(ready)) return;
        wait_slowly(ready, awaits, SleepState::anybody);
    }

    // After publishing something: wakes the ranks that sleep for it. One load while none sleeps.
    void wake() noexcept {
        if (policy_.publishers_fence) std::atomic_thread_fence(std::memory_order_seq_cst);
        else std::atomic_signal_fence(std::memory_order_seq_cst);  // nor may the compiler look first
        // Acquire pairs with the increment in `sleep`: the rank that each sleeper waits for is written before it.
        if (layout_.header().sleepers.load(std::memory_order_acquire) != 0) [[unlikely]]
            wake_sleepers(false);
    }
    void wake_all() noexcept { wake_sleepers(true); }

    // Writes the failure down for all ranks.
    void record(const comm::Failure& failure) noexcept;
    // The same, and throws what was written first.
    [[noreturn]] void fail(const comm::Failure& failure);
    // Throws the failure that another rank recorded.
    [[noreturn]] void repeat_failure() const;

    std::string call_text() const { return call_->describe(); }

private:
    using Clock = std::chrono::steady_clock;

    // A pause takes about as long as a cache line from the next core, which is what most waits are for.
    static constexpr int bare_spins = 40;

    template <class Ready>
    bool is_ready_soon(Ready&& ready) noexcept {
        if (ready()) return true;
        for (int i = 0; i < policy_.spins; ++i) {
            if (i >= bare_spins) pause();
            if (ready()) return true;
        }
        return false;
    }

    static void pause() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    bool is_ready_after_yields(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits) noexcept;
    bool is_ready_from_other_cores(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits) noexcept;
    void wait_slowly(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits, std::uint32_t asleep_for);
    void sleep(FunctionRef<bool()> ready, std::uint32_t asleep_for, std::chrono::microseconds slice) noexcept;
    void check_peers(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits);
    void wake_sleepers(bool all) noexcept;
    std::uint64_t read_by_others() const noexcept;
    std::string missing(FunctionRef<bool(int)> awaits) const;

    Layout layout_;
    comm::Group group_;
    TimeLimit limit_;
    const comm::Lifetime& lifetime_;
    WaitPolicy policy_;
    std::uint64_t sequence_ = 0;
    const PackedCall* call_ = nullptr;
    comm::Caller* caller_ = nullptr;
    bool is_counting_ = false;
    Clock::time_point counting_since_;
    std::uint64_t seen_read_ = 0;  // by others, when last looked at
    double waited_s_ = 0.0;
};

}  // namespace cobre::shm
