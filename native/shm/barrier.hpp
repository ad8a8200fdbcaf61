// A memory barrier that this process makes all others of the group execute, so that those who publish need none.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cobre::shm {

// Lets others include this process. False where the kernel has no such barrier or a filter forbids it.
inline bool accept_barriers() noexcept {
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

// When it returns, every thread of every accepting process has passed a full barrier meanwhile.
inline void barrier_everywhere() noexcept { ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

}  // namespace cobre::shm
