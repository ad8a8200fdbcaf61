#include "shm/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace cobre::shm {

namespace {

namespace fs = std::filesystem;

constexpr int unlimited = std::numeric_limits<int>::max();

std::optional<double> number_in(const fs::path& file) {
    std::ifstream stream(file);
    double value = 0;
    if (stream >> value) return value;
    return std::nullopt;
}

int whole_cpus(double quota, double period) {
    if (quota <= 0 || period <= 0) return unlimited;  // v1 writes "no limit" as -1
    return std::max(1, static_cast<int>(std::floor(quota / period)));
}

int v2_cpus(const fs::path& group) {
    std::ifstream stream(group / "cpu.max");  // "200000 100000" or "max 100000", which does not parse
    double quota = 0;
    double period = 0;
    return stream >> quota >> period ? whole_cpus(quota, period) : unlimited;
}

int v1_cpus(const fs::path& group) {
    const auto quota = number_in(group / "cpu.cfs_quota_us");
    const auto period = number_in(group / "cpu.cfs_period_us");
    return quota && period ? whole_cpus(*quota, *period) : unlimited;
}

// The tightest of a group and all that enclose it.
int tightest(const fs::path& mount, const std::string& path, int (*cpus_of)(const fs::path&)) {
    std::error_code ignored;
    fs::path group = mount / fs::path(path).relative_path();
    if (!fs::is_directory(group, ignored)) group = mount;  // in a container the path is the host's, the mount ours
    int cpus = unlimited;
    for (;; group = group.parent_path()) {
        cpus = std::min(cpus, cpus_of(group));
        if (group == mount || !group.has_relative_path()) return cpus;
    }
}

bool names_cpu(const std::string& controllers) {
    return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

CpuMask CpuMask::of_this_process() noexcept {
    CpuMask mask;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        std::memcpy(mask.words_.data(), &set, std::min(sizeof set, sizeof mask.words_));
    if (mask.count() == 0) mask.words_[0] = 1;
    return mask;
}

void CpuMask::add(const CpuMask& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

int CpuMask::count() const noexcept {
    int count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
}

int cgroup_cpus(const fs::path& root) {
    int cpus = unlimited;
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        const fs::path mounts = root / "sys/fs/cgroup";
        if (line.starts_with("0:")) cpus = std::min(cpus, tightest(mounts, path, v2_cpus));
        else if (names_cpu(controllers)) cpus = std::min(cpus, tightest(mounts / "cpu", path, v1_cpus));
    }
    return cpus;
}

}  // namespace cobre::shm
