// Whether a communicator may still be used in this process.
#pragma once

#include <atomic>
#include <cstdint>

namespace cobre::comm {

// A number that differs between a process and every child it forks, at the price of one load.
// (getpid() is a system call, and a recycled pid would lie.)
std::uint64_t fork_generation() noexcept;

// Open from construction until `close()`, and only in the process that made it.
class Lifetime {
public:
    bool is_closed() const noexcept { return closed_.load(std::memory_order_relaxed); }
    bool is_forked() const noexcept { return born_ != fork_generation(); }
    void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

    // Throws `Error` of class invalid_communicator, naming `operation`.
    void require_usable(const char* operation) const {
        if (is_closed() || is_forked()) [[unlikely]]
            refuse(operation);
    }

    // The same for what still answers after close(): no call of a forked child may wait for the parent's locks.
    void require_same_process(const char* operation) const {
        if (is_forked()) [[unlikely]]
            refuse(operation);
    }

private:
    [[noreturn]] void refuse(const char* operation) const;

    // Relaxed: the flag guards no other data; calls that move data are serialised by their own lock.
    std::atomic<bool> closed_ = false;
    std::uint64_t born_ = fork_generation();
};

}  // namespace cobre::comm
