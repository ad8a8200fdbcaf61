// Serialises the calls of one communicator without ever blocking while holding the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

namespace cobre::bindings {

class CallLock {
public:
    explicit CallLock(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
        if (lock_.owns_lock()) [[likely]]
            return;
        // The owner may need the GIL to finish: let go of it before waiting for the owner.
        const nanobind::gil_scoped_release released;
        lock_.lock();
    }

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace cobre::bindings
