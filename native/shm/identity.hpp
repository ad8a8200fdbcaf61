// Who a process is, so that a recycled pid is never mistaken for a rank that lives.
#pragma once

#include <cstdint>

namespace cobre::shm {

struct Identity {
    std::int64_t pid = 0;
    std::uint64_t start = 0;          // start time of the process, field 22 of /proc/<pid>/stat
    std::uint64_t pid_namespace = 0;  // pids mean something only inside one
    std::uint64_t boot = 0;           // and only until the machine restarts
    // Where its stack began, field 28 of /proc/<pid>/stat: another program that the process has become (exec)
    // keeps all of the above, but not this. 0 where it may not be read.
    std::uint64_t stack = 0;

    friend bool operator==(const Identity&, const Identity&) = default;
};

Identity own_identity() noexcept;

// Whether its pid means that process here, too.
bool is_in_this_namespace(const Identity& identity) noexcept;

enum class Vitality : std::uint8_t { running, stopped, dead };

// Asks the kernel now. A zombie is dead, and so is a process that has become another program: neither will ever
// write again. A process of another PID namespace cannot be judged and counts as running.
// No descriptor is kept per peer: there is nothing that a forked child could inherit, and nothing to run out of.
Vitality vitality_of(const Identity& identity) noexcept;

}  // namespace cobre::shm
