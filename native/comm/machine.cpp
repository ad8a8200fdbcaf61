#include "comm/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "comm/descriptor.hpp"

namespace cobre::comm {

namespace {

namespace fs = std::filesystem;

constexpr double unlimited = std::numeric_limits<double>::infinity();

double ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : unlimited; }

double v2_quota(const fs::path& group) {
    std::ifstream stream(group / "cpu.max");  // "200000 100000" or "max 100000", which does not parse
    double quota = 0;
    double period = 0;
    return stream >> quota >> period ? ratio(quota, period) : unlimited;
}

double v1_quota(const fs::path& group) {
    double quota = 0;  // -1 is no limit
    double period = 0;
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
    return ratio(quota, period);
}

// The tightest of a group and all that enclose it.
double tightest(const fs::path& mount, const std::string& path, double (*quota_of)(const fs::path&)) {
    std::error_code ignored;
    fs::path group = mount / fs::path(path).relative_path();
    if (!fs::is_directory(group, ignored)) group = mount;  // in a container the path is the host's, the mount ours
    double quota = unlimited;
    for (;; group = group.parent_path()) {
        quota = std::min(quota, quota_of(group));
        if (group == mount || !group.has_relative_path()) return quota;
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

double cpu_quota(const fs::path& root) {
    double quota = unlimited;
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        const fs::path mounts = root / "sys/fs/cgroup";
        if (line.starts_with("0:")) quota = std::min(quota, tightest(mounts, path, v2_quota));
        else if (names_cpu(controllers)) quota = std::min(quota, tightest(mounts / "cpu", path, v1_quota));
    }
    return quota;
}

int whole_cpus(double quota) noexcept {
    constexpr double most = 1 << 20;
    return static_cast<int>(std::clamp(std::floor(quota), 1.0, most));
}

int usable_cpus(const fs::path& root) {
    return std::min(CpuMask::of_this_process().count(), whole_cpus(cpu_quota(root)));
}

std::string_view read_small_file(const char* path, SmallText& text) noexcept {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    return length > 0 ? std::string_view(text.data(), static_cast<std::size_t>(length)) : std::string_view{};
}

// Read once: later there may be no descriptor left to read it with.
std::uint64_t boot_id() noexcept {
    static const std::uint64_t hash = [] {
        SmallText text;
        std::uint64_t state = 0xCBF29CE484222325ULL;
        for (const char byte : read_small_file("/proc/sys/kernel/random/boot_id", text))
            state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
        return state;
    }();
    return hash;
}

}  // namespace cobre::comm
