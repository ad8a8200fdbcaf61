// What a call that has to wait needs from whoever made it; Python's bindings implement it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace cobre::tcp {

enum class Level : std::uint8_t { info, warning };

class Caller {
public:
    // Whether to give up because a signal handler asks for it. Comes at least every 100 ms while waiting.
    virtual bool is_interrupted() { return false; }
    // A line for the user's log.
    virtual void log(Level /*level*/, const std::string& /*text*/) {}

protected:
    ~Caller() = default;
};

// Thrown when the caller asked to stop; it has its reasons at hand.
struct Interrupted {};

constexpr int longest_sleep_ms = 100;

// How long poll() may sleep: until `until`, and at most as long as the caller may be left unasked.
inline int poll_ms_until(std::chrono::steady_clock::time_point until) noexcept {
    const auto left = until - std::chrono::steady_clock::now();
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    return static_cast<int>(std::clamp<long>(left_ms, 0, longest_sleep_ms));
}

}  // namespace cobre::tcp
