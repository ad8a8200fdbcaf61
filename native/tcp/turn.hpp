// Who may use the connections of a communicator right now.
#pragma once

#include <mutex>

#include "tcp/communicator.hpp"

namespace cobre::tcp {

// The right to use the connections. Whoever has it when the communicator is closed also says goodbye.
class Communicator::Turn {
public:
    Turn(Communicator& comm, const char* operation) : comm_(comm), lock_(comm.calls_) {
        {
            const std::lock_guard guard(comm_.door_);
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
    void end() noexcept {
        const std::lock_guard guard(comm_.door_);
        comm_.is_busy_ = false;
        if (comm_.is_leaving_) comm_.leave();
    }

    Communicator& comm_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace cobre::tcp
