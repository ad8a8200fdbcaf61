// What the machine says about itself.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tcp/socket.hpp"

namespace cobre::tcp {

namespace {

namespace fs = std::filesystem;

// Whole processors' worth of time that one control group grants; 0 if it sets no limit.
int quota_of(const fs::path& group) {
    double quota = 0;
    double period = 0;
    std::ifstream v2(group / "cpu.max");  // "200000 100000", or "max 100000", which is no number
    if (!(v2 >> quota >> period)) {
        std::ifstream(group / "cpu.cfs_quota_us") >> quota;  // -1 is no limit
        std::ifstream(group / "cpu.cfs_period_us") >> period;
    }
    return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period)) : 0;
}

}  // namespace

std::uint64_t host_identity() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(file, text);
    std::uint64_t state = 0xCBF29CE484222325ULL;
    for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return state;
}

int usable_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int usable = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
        const std::size_t end = line.find(':', line.find(':') + 1);
        if (end == std::string::npos) continue;
        const bool is_v2 = line.starts_with("0::");
        if (!is_v2 && line.find("cpu") == std::string::npos) continue;
        const fs::path mount = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        // Every group around this one may be the tightest; inside a container only the mount itself is visible.
        for (fs::path group = mount / fs::path(line.substr(end + 1)).relative_path();;
             group = group.parent_path()) {
            if (const int quota = quota_of(group); quota > 0) usable = std::min(usable, quota);
            if (group == mount || !group.has_relative_path()) break;
        }
    }
    return std::max(usable, 1);
}

}  // namespace cobre::tcp
