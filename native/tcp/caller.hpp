// What a call that has to wait needs from whoever made it; Python's bindings implement it.
#pragma once

namespace cobre::tcp {

class Caller {
public:
    // Whether to give up because a signal handler asks for it. Comes at least every 100 ms while waiting.
    virtual bool is_interrupted() { return false; }

protected:
    ~Caller() = default;
};

// Thrown when the caller asked to stop; it has its reasons at hand.
struct Interrupted {};

constexpr int longest_sleep_ms = 100;

}  // namespace cobre::tcp
