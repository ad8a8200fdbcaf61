// How many ranks can run at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

namespace cobre::shm {

// One bit per CPU that a process may run on. Ranks pinned to one core each still have a core each, so
// it is the union over the ranks that counts.
class CpuMask {
public:
    static CpuMask of_this_process() noexcept;
    void add(const CpuMask& other) noexcept;
    int count() const noexcept;

private:
    std::array<std::uint64_t, 16> words_ = {};
};

// CPUs' worth of time that the tightest cgroup (v1 or v2) around this process grants; a large number if none
// does. `root` is "/" but for tests.
int cgroup_cpus(const std::filesystem::path& root = "/");

}  // namespace cobre::shm
