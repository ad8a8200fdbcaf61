// A moment after which nobody waits any longer.
#pragma once

#include <chrono>

namespace cobre::shm {

class Deadline {
public:
    explicit Deadline(double seconds) noexcept : seconds_(seconds) {}

    double left_s() const noexcept {
        return seconds_ - std::chrono::duration<double>(Clock::now() - begin_).count();
    }
    bool is_over() const noexcept { return left_s() < 0.0; }

private:
    using Clock = std::chrono::steady_clock;

    double seconds_;  // apart from the clock's own units, which a very long one would not fit into
    Clock::time_point begin_ = Clock::now();
};

}  // namespace cobre::shm
