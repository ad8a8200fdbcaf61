// The machine as this process sees it: CPUs that it may use, and which boot of which kernel it runs under.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace cobre::comm {

// One bit per CPU that a process may run on. Ranks pinned to one core each still have a core each, so it is the
// union over the ranks that counts.
class CpuMask {
public:
    static CpuMask of_this_process() noexcept;
    void add(const CpuMask& other) noexcept;
    int count() const noexcept;

private:
    std::array<std::uint64_t, 16> words_ = {};
};

// CPUs' worth of time that the tightest control group (v1 or v2) around this process grants; infinite if none
// does. `root` is "/" but for tests.
double cpu_quota(const std::filesystem::path& root = "/");

// Whole CPUs of that quota, at least 1: half a CPU is none that a rank could run on all the time.
int whole_cpus(double quota) noexcept;

// CPUs that this process may use: its affinity, or its quota if that is less. At least 1.
int usable_cpus(const std::filesystem::path& root = "/");

// Equal for two processes exactly if one kernel, since its start, runs both (but for chance).
std::uint64_t boot_id() noexcept;

// The text of a small file, as of /proc; empty if it cannot be read. Needs one descriptor and no heap.
using SmallText = std::array<char, 1024>;
std::string_view read_small_file(const char* path, SmallText& text) noexcept;

}  // namespace cobre::comm
