// Reading another rank's private memory with one copy, where the kernel permits it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/process.hpp"

namespace cobre::shm {

// An address in this process that holds a number that is the same on every rank.
std::uint64_t probe_address() noexcept;

// Whether this process may read that one (same user, no ptrace restriction, no seccomp filter).
bool can_read(const comm::ProcessIdentity& process, std::uint64_t its_probe_address) noexcept;

// Fills `to` from `address` in that process. False when the kernel refuses or the process is gone.
bool read_memory(const comm::ProcessIdentity& process, std::uint64_t address, std::byte* to,
                 std::size_t bytes) noexcept;

}  // namespace cobre::shm
