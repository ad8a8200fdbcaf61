#include "comm/process.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "comm/machine.hpp"

namespace cobre::comm {

namespace {

struct Stat {
    char letter = 0;
    std::uint64_t start = 0;
    std::uint64_t stack = 0;
};

// Reads "pid (name) S ppid … starttime … startstack …"; the name may hold spaces and brackets, so the last ')'
// counts.
bool parse_stat(std::string_view stat, Stat& state) noexcept {
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return false;
    stat.remove_prefix(name_end + 2);
    state.letter = stat.front();
    int field = 3;
    const auto read = [&](int wanted, std::uint64_t& value) {
        for (; field < wanted; ++field) {
            const std::size_t space = stat.find(' ');
            if (space == std::string_view::npos) return false;
            stat.remove_prefix(space + 1);
        }
        return std::from_chars(stat.data(), stat.data() + stat.size(), value).ec == std::errc{};
    };
    return read(22, state.start) && read(28, state.stack);
}

bool read_stat(std::int64_t pid, Stat& state) noexcept {
    std::array<char, 48> path;
    std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(pid));
    SmallText text;
    return parse_stat(read_small_file(path.data(), text), state);
}

// Without any file: a zombie has no memory any more.
bool exists_with_memory(std::int64_t pid) noexcept {
    char byte = 0;
    const iovec here{&byte, 1};
    const iovec there{nullptr, 1};  // nowhere; who may be read answers EFAULT
    if (::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) < 0 && errno == ESRCH) return false;
    return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

// Read once: later there may be no descriptor left to read it with.
std::uint64_t own_pid_namespace() noexcept {
    static const std::uint64_t number = [] {
        struct stat info = {};
        return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : ino_t{0};
    }();
    return number;
}

}  // namespace

ProcessIdentity own_identity() noexcept {
    Stat state;
    read_stat(::getpid(), state);
    return {::getpid(), state.start, own_pid_namespace(), boot_id(), state.stack};
}

bool is_in_this_namespace(const ProcessIdentity& identity) noexcept {
    return identity.pid_namespace == own_pid_namespace();
}

ProcessState state_of(const ProcessIdentity& identity) noexcept {
    if (identity.boot != boot_id()) return ProcessState::dead;
    if (!is_in_this_namespace(identity)) return ProcessState::running;  // not to be seen from here
    Stat state;
    if (!read_stat(identity.pid, state))  // no such entry, no /proc, or no descriptor left to open it with
        return exists_with_memory(identity.pid) ? ProcessState::running : ProcessState::dead;
    if (identity.start != 0 && state.start != identity.start) return ProcessState::dead;
    if (identity.stack != 0 && state.stack != 0 && state.stack != identity.stack) return ProcessState::dead;
    switch (state.letter) {
        case 'Z':
        case 'X':
        case 'x': return ProcessState::dead;
        case 'T':
        case 't': return ProcessState::stopped;
        default: return ProcessState::running;
    }
}

std::uint64_t start_of(std::int64_t pid) noexcept {
    Stat stat;
    const bool exists = read_stat(pid, stat) && stat.letter != 'Z' && stat.letter != 'X';
    return exists ? stat.start : 0;
}

}  // namespace cobre::comm
