#include "shm/waiter.hpp"

#include <sched.h>

#include <algorithm>

#include "comm/deadline.hpp"
#include "comm/statistics.hpp"
#include "shm/barrier.hpp"
#include "shm/futex.hpp"

namespace cobre::shm {

namespace {

using std::chrono::microseconds;

// A death is seen within the longest slice, and so is a signal that another thread received.
constexpr microseconds first_slice{500};
constexpr microseconds longest_slice{50'000};

// Less than a microsecond: about as long as ranks on other cores, each with a switch behind it, are apart.
constexpr int spins_for_other_cores = 50;

// With more ranks than cores, most waits end after the first turn. Letting go of the GIL takes longer than many a
// turn's own work.
constexpr int turns_before_releasing_locks = 2;

}  // namespace

WaitPolicy WaitPolicy::for_group(bool is_oversubscribed, bool have_barriers) noexcept {
    // Longer spinning hurts even when cores suffice: two ranks may sit on one core until the kernel moves one.
    return is_oversubscribed ? WaitPolicy{0, 20, true, true} : WaitPolicy{200, 200, false, !have_barriers};
}

// Every core has to switch between its ranks once per collective, and each further switch is lost time. So the
// core is offered at once to an awaited rank that needs it; while all of those are on other cores, where they run,
// it is kept for a moment.
bool Waiter::is_ready_after_yields(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits) noexcept {
    for (int i = 0; i < policy_.yields; ++i) {
        if (i == turns_before_releasing_locks) caller_->release_locks();
        if (is_ready_from_other_cores(ready, awaits)) return true;
        ::sched_yield();
        if (ready()) return true;
    }
    return false;
}

bool Waiter::is_ready_from_other_cores(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits) noexcept {
    // Relaxed: an old number costs time, not correctness.
    std::atomic<int>& mine = layout_.entry(group_.rank).last_cpu.cpu;
    const int cpu = ::sched_getcpu();
    if (mine.load(std::memory_order_relaxed) != cpu) mine.store(cpu, std::memory_order_relaxed);
    for (int rank = 0; rank < group_.size; ++rank)
        if (rank != group_.rank && layout_.entry(rank).last_cpu.cpu.load(std::memory_order_relaxed) == cpu &&
            awaits(rank))
            return false;
    for (int i = 0; i < spins_for_other_cores; ++i) {
        pause();
        if (ready()) return true;
    }
    return false;
}

void Waiter::wait_slowly(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits, std::uint32_t asleep_for) {
    const comm::Stopwatch watch;
    struct AddTo {  // whichever way the wait ends
        double& sum;
        const comm::Stopwatch& watch;
        ~AddTo() { sum += watch.seconds(); }
    } const add{waited_s_, watch};

    if (policy_.is_oversubscribed && is_ready_after_yields(ready, awaits)) return;
    caller_->release_locks();
    if (!policy_.is_oversubscribed)
        for (int i = 0; i < policy_.yields; ++i) {
            ::sched_yield();
            if (ready()) return;
        }
    if (!is_counting_) {
        is_counting_ = true;
        counting_since_ = Clock::now();
    }
    for (microseconds slice = first_slice;; slice = std::min(2 * slice, longest_slice)) {
        sleep(ready, asleep_for, slice);
        if (ready()) return;
        check_peers(ready, awaits);
        if (ready()) return;
    }
}

// Going to sleep races with the store that we sleep for. The publisher stores its flag and then loads `sleepers`;
// we increment `sleepers` and then load the flag. With a full barrier between the two on either side, at least one
// sees the other's store: either we find the flag set, or the publisher finds us, and what it finds includes
// `asleep_for`. The publisher's barrier is its own, or the one that we make all processes execute. A wake-up
// between our load of `wake_count` and the system call makes that return at once. So no wake-up is lost; the slice
// is for trouble only.
void Waiter::sleep(FunctionRef<bool()> ready, std::uint32_t asleep_for, microseconds slice) noexcept {
    SleepState& own = layout_.entry(group_.rank).sleep;
    std::atomic<std::uint32_t>& sleepers = layout_.header().sleepers;
    // Relaxed but for the increment: these words only decide who is woken; data is ordered by the flags that
    // `ready` loads.
    const std::uint32_t seen = own.wake_count.load(std::memory_order_relaxed);
    own.asleep_for.store(asleep_for, std::memory_order_relaxed);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (policy_.publishers_fence) std::atomic_thread_fence(std::memory_order_seq_cst);
    else barrier_everywhere();
    if (!ready()) futex_wait(own.wake_count, seen, slice);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    own.asleep_for.store(SleepState::no_rank, std::memory_order_relaxed);
}

void Waiter::wake_sleepers(bool all) noexcept {
    const std::uint32_t me = static_cast<std::uint32_t>(group_.rank) + 1;
    for (RankEntry& entry : layout_.entries()) {
        const std::uint32_t awaited = entry.sleep.asleep_for.load(std::memory_order_relaxed);
        if (awaited == SleepState::no_rank || (awaited != me && awaited != SleepState::anybody && !all)) continue;
        entry.sleep.wake_count.fetch_add(1, std::memory_order_relaxed);
        futex_wake(entry.sleep.wake_count, 1);
    }
}

void Waiter::check_peers(FunctionRef<bool()> ready, FunctionRef<bool(int)> awaits) {
    if (has_failed(layout_.header(), sequence_)) repeat_failure();
    const std::string me = "rank " + std::to_string(group_.rank);
    if (lifetime_.is_closed())
        fail({me + " closed its communicator in " + call_text(), "close() only after the last collective"});
    for (int rank = 0; rank < group_.size; ++rank) {
        if (rank == group_.rank || !awaits(rank)) continue;
        const RankEntry& entry = layout_.entry(rank);
        // Acquire pairs with the release in Communicator::close: whatever the rank contributed is visible now.
        const bool is_closed = entry.state.load(std::memory_order_acquire) == RankState::closed;
        if (!is_closed && comm::state_of(entry.identity) != comm::ProcessState::dead) continue;
        if (ready()) return;
        if (!awaits(rank)) continue;  // it had contributed before it left
        const std::string who = "rank " + std::to_string(rank);
        const std::string where = " while " + me + " waited for it in " + call_text();
        if (is_closed)
            fail({who + " has closed its communicator" + where,
                  "let every rank make the same calls before any closes"});
        fail({who + " (pid " + std::to_string(entry.identity.pid) +
                  ") has died, exited or become another program" + where,
              "see the output of " + who + " for what ended it; then start all ranks again"});
    }
    if (const std::uint64_t read = read_by_others(); read != seen_read_) {  // the timeout counts from here
        seen_read_ = read;
        counting_since_ = Clock::now();
    }
    if (std::chrono::duration<double>(Clock::now() - counting_since_).count() > limit_.seconds)
        fail({"after " + comm::seconds_text(limit_.seconds) + " " + me + " still waits in " + call_text() +
                  " for " + missing(awaits),
              limit_.fix});
    if (caller_->is_interrupted()) {
        record({me + " was interrupted by a signal in " + call_text(), "start all ranks again"});
        throw comm::Interrupted{};
    }
}

// Also by those who are not awaited any more: otherwise each that comes would look like progress of the rest.
std::uint64_t Waiter::read_by_others() const noexcept {
    std::uint64_t pieces = 0;
    for (int rank = 0; rank < group_.size; ++rank)
        if (rank != group_.rank) pieces += layout_.entry(rank).read.position.load(std::memory_order_relaxed);
    return pieces;
}

std::string Waiter::missing(FunctionRef<bool(int)> awaits) const {
    std::string list;
    for (int rank = 0; rank < group_.size; ++rank) {
        if (rank == group_.rank || !awaits(rank)) continue;
        const comm::ProcessIdentity& identity = layout_.entry(rank).identity;
        list += (list.empty() ? "rank " : ", rank ") + std::to_string(rank) + " (pid " +
                std::to_string(identity.pid) +
                (comm::state_of(identity) == comm::ProcessState::stopped ? ", which is stopped)" : ")");
    }
    return list;
}

void Waiter::record(const comm::Failure& failure) noexcept {
    record_failure(layout_.header(), sequence_, failure);
    // What the caller writes from now on comes after the failure, also for those who still read its memory.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wake_all();
}

void Waiter::fail(const comm::Failure& failure) {
    record(failure);
    repeat_failure();
}

void Waiter::repeat_failure() const {
    comm::Failure failure = recorded_failure(layout_.header());
    throw comm::Error(comm::ErrorClass::collective_failed, name_of(call_->verb), 0, 0, std::move(failure.text),
                      std::move(failure.fix));
}

}  // namespace cobre::shm
