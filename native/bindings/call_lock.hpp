// Serialises the calls of one communicator without ever blocking while holding the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "bindings/calls_under_way.hpp"
#include "bindings/gil.hpp"
#include "comm/error.hpp"

namespace cobre::bindings {

// Whose turn it is. The GIL guards the plain members: an atomic exchange, twice per call, would be a tenth of a
// short collective.
class CallQueue {
public:
    // All with the GIL held; `enter` may let go of it for a while.
    void enter() {
        while (is_taken_) [[unlikely]]
            wait();
        is_taken_ = true;
        owner_ = std::this_thread::get_id();
    }
    bool try_enter() noexcept {
        if (is_taken_) return false;
        enter();
        return true;
    }
    void leave() noexcept {
        is_taken_ = false;
        if (waiting_ != 0) [[unlikely]]
            let_next_in();
    }

private:
    // The owner may need the GIL to finish: let go of it before waiting for the owner.
    void wait() {
        if (owner_ == std::this_thread::get_id())
            throw comm::Error(comm::ErrorClass::invalid_communicator,
                              "a signal handler called the communicator whose call it interrupted",
                              "let the handler set a flag, and make the call when the interrupted one is over");
        ++waiting_;
        std::unique_lock lock(mutex_);
        const std::uint64_t seen = departures_;
        {
            const WithoutGil released;
            left_.wait_for(lock, std::chrono::milliseconds(100), [&] { return departures_ != seen; });
            lock.unlock();
        }
        --waiting_;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();  // Ctrl-C ends this wait, too
    }

    void let_next_in() noexcept {
        const std::lock_guard lock(mutex_);
        ++departures_;
        left_.notify_all();
    }

    bool is_taken_ = false;
    std::thread::id owner_;
    int waiting_ = 0;
    std::mutex mutex_;  // held for moments only, and never while waiting for the GIL
    std::condition_variable left_;
    std::uint64_t departures_ = 0;
};

// One call, from after its arguments were read to its end; made and destroyed with the GIL held.
class CallLock {
public:
    explicit CallLock(CallQueue& queue) : queue_(queue) { queue_.enter(); }
    ~CallLock() { queue_.leave(); }
    CallLock(const CallLock&) = delete;
    CallLock& operator=(const CallLock&) = delete;

private:
    CallUnderWay under_way_;
    CallQueue& queue_;
};

}  // namespace cobre::bindings
