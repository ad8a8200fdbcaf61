// What a call that has to wait needs from its caller; Python's bindings implement it.
#pragma once

#include <cstdint>
#include <string>

namespace cobre::comm {

enum class Level : std::uint8_t { info, warning };

class Caller {
public:
    // Before a wait of more than a moment: release locks that others may need. May come several times.
    virtual void release_locks() noexcept {}
    // Whether a signal handler requests a stop. Called at least every 100 ms while waiting.
    virtual bool is_interrupted() { return false; }
    // A line for the user's log.
    virtual void log(Level /*level*/, const std::string& /*text*/) {}

protected:
    ~Caller() = default;
};

// Thrown when the caller requests a stop; the reason is with the caller.
struct Interrupted {};

}  // namespace cobre::comm
