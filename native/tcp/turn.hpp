// Who may use the connections of a communicator right now.
#pragma once

#include <chrono>
#include <mutex>

#include "comm/deadline.hpp"
#include "comm/error.hpp"
#include "tcp/communicator.hpp"

namespace cobre::tcp {

// The right to use the connections. Its holder at the time of close() also sends the shutdown frames.
class Communicator::Turn {
public:
    // Throws `Interrupted` if `caller` is asked to stop while another call is under way.
    Turn(Communicator& comm, const char* operation, comm::Caller* caller = nullptr)
        : comm_(comm), lock_(comm.calls_, std::defer_lock) {
        // In a forked child the lock may be the watcher's for ever.
        comm_.lifetime_.require_same_process(operation);
        if (comm_.owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
            throw comm::Error(comm::ErrorClass::invalid_communicator,
                              "a signal handler called the communicator whose call it interrupted",
                              "let the handler set a flag, and make the call when the interrupted one is over");
        if (!lock_.try_lock()) wait(caller);
        comm_.owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        {
            const std::lock_guard guard(comm_.state_mutex_);
            comm_.is_busy_ = true;
        }
        try {
            comm_.lifetime_.require_usable(operation);
            if (comm_.failure_) comm_.repeat_failure(operation);
        } catch (...) {
            end();
            throw;
        }
    }
    ~Turn() { end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    void wait(comm::Caller* caller) {
        if (caller == nullptr) return lock_.lock();
        while (!has_come_soon())
            if (caller->is_interrupted()) throw comm::Interrupted{};
    }

    bool has_come_soon() {
        constexpr std::chrono::milliseconds slice{comm::longest_sleep_ms};
#if defined(__SANITIZE_THREAD__)
        // It does not know pthread_mutex_clocklock, and would take the lock to be free.
        return lock_.try_lock_until(std::chrono::system_clock::now() + slice);
#else
        return lock_.try_lock_for(slice);
#endif
    }

    void end() noexcept {
        comm_.owner_.store({}, std::memory_order_relaxed);
        const std::lock_guard guard(comm_.state_mutex_);
        comm_.is_busy_ = false;
        if (comm_.is_leaving_) comm_.leave();
    }

    Communicator& comm_;
    std::unique_lock<std::timed_mutex> lock_;
};

}  // namespace cobre::tcp
