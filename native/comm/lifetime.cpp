#include "comm/lifetime.hpp"

#include <pthread.h>

#include <string>

#include "comm/error.hpp"

namespace cobre::comm {

namespace {

// Process-wide by nature, so the one place where the core keeps static state.
std::atomic<std::uint64_t>& generation() noexcept {
    static std::atomic<std::uint64_t> counter = 0;
    return counter;
}

extern "C" void count_fork_in_child() { generation().fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint64_t fork_generation() noexcept {
    // pthread_atfork sees forks by C libraries, too, which os.register_at_fork does not.
    static const int registered = pthread_atfork(nullptr, nullptr, count_fork_in_child);
    static_cast<void>(registered);
    return generation().load(std::memory_order_relaxed);
}

void Lifetime::refuse(const char* operation) const {
    if (is_forked())
        throw Error(ErrorClass::invalid_communicator,
                    std::string(operation) + ": this communicator belongs to the process this one was forked from",
                    "make a communicator in the child, or start ranks as fresh processes instead of forking");
    throw Error(ErrorClass::invalid_communicator, std::string(operation) + ": the communicator is closed",
                "call collectives before close(), inside the with block");
}

}  // namespace cobre::comm
