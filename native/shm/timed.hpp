// How long a call took, and how much of that it waited.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "comm/statistics.hpp"
#include "comm/trace.hpp"
#include "shm/waiter.hpp"

namespace cobre::shm {

// Enters a call into the statistics, however it ends.
class Timed {
public:
    Timed(Waiter& waiter, comm::Statistics& statistics, comm::Track& track, comm::Operation operation,
          std::uint64_t bytes)
        : waiter_(waiter),
          entry_(statistics[operation]),
          traced_(track, entry_, operation),
          is_timed_(bytes >= comm::timed_move_bytes) {
        if (is_timed_) begin_ = Clock::now();
        entry_.calls += 1;
        entry_.bytes += bytes;
    }
    ~Timed() {
        const double waited = waiter_.waited_s();
        entry_.wait_s += waited;
        if (is_timed_)
            entry_.move_s += std::max(0.0, std::chrono::duration<double>(Clock::now() - begin_).count() - waited);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    using Clock = std::chrono::steady_clock;

    Waiter& waiter_;
    comm::OperationStatistics& entry_;
    comm::TraceScope traced_;  // a member: it ends after the destructor above has made its entry
    bool is_timed_;
    Clock::time_point begin_;
};

}  // namespace cobre::shm
