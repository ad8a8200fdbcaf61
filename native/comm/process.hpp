// Which process a pid means, so that a recycled pid is never taken for a running rank.
#pragma once

#include <cstdint>

namespace cobre::comm {

struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start = 0;          // start time of the process, field 22 of /proc/<pid>/stat
    std::uint64_t pid_namespace = 0;  // pids mean something only inside one
    std::uint64_t boot = 0;           // and only until the machine restarts
    // Where its stack began, field 28 of /proc/<pid>/stat: another program that the process has become (exec)
    // keeps all of the above, but not this. 0 where it may not be read.
    std::uint64_t stack = 0;

    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity own_identity() noexcept;

// Whether its pid means that process here, too.
bool is_in_this_namespace(const ProcessIdentity& identity) noexcept;

enum class ProcessState : std::uint8_t { running, stopped, dead };

// Reads the state from the kernel now. A zombie is dead, and so is a process that has become another program:
// neither will ever write again. A process of another PID namespace cannot be judged and counts as running. No
// descriptor is kept per peer: there is nothing that a forked child could inherit, and nothing to run out of.
ProcessState state_of(const ProcessIdentity& identity) noexcept;

// When the process of that pid began, in ticks since the boot; 0 if there is none, or only a zombie.
std::uint64_t start_of(std::int64_t pid) noexcept;

}  // namespace cobre::comm
