// Sleeping on a word that another process changes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cobre::shm {

// Returns when woken, when the word is not `seen` any more, after `slice`, or on a signal.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::chrono::microseconds slice) noexcept {
    const auto count = slice.count();
    const timespec limit{static_cast<time_t>(count / 1'000'000), static_cast<long>(count % 1'000'000) * 1000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int waiters) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, waiters, nullptr, nullptr, 0);
}

}  // namespace cobre::shm
