// Where the time of a solve goes.
#pragma once

#include <chrono>
#include <cstdint>

namespace cobre::lp {

inline std::int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Adds the time since the last call to one counter, so that a solve reads the clock once per part.
class StopWatch {
public:
    std::int64_t lap(std::int64_t& counter) noexcept {
        const std::int64_t now = now_ns();
        counter += now - last_;
        last_ = now;
        return now;
    }

private:
    std::int64_t last_ = now_ns();
};

}  // namespace cobre::lp
