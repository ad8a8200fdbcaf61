// Deadlines, and durations as text.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace cobre::comm {

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

// While waiting, stop requests are checked this often.
constexpr int longest_sleep_ms = 100;

// How long poll() may sleep: until `until`, and at most as long as the caller may be left unasked.
inline int poll_ms_until(std::chrono::steady_clock::time_point until) noexcept {
    const auto left = until - std::chrono::steady_clock::now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    return static_cast<int>(std::clamp<long>(left_ms, 0, longest_sleep_ms));
}

// "0.5 s"
inline std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g s", seconds);
    return text;
}

}  // namespace cobre::comm
