#include "shm/identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "shm/resource.hpp"

namespace cobre::shm {

namespace {

using Text = std::array<char, 1024>;

std::string_view read_file(const char* path, Text& text) noexcept {
    const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    return length > 0 ? std::string_view(text.data(), static_cast<std::size_t>(length)) : std::string_view{};
}

struct ProcessState {
    char letter = 0;
    std::uint64_t start = 0;
    std::uint64_t stack = 0;
};

// Reads "pid (name) S ppid … starttime … startstack …"; the name may hold spaces and brackets, so the last ')'
// counts.
bool parse_stat(std::string_view stat, ProcessState& state) noexcept {
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

bool process_state(std::int64_t pid, ProcessState& state) noexcept {
    std::array<char, 48> path;
    std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(pid));
    Text text;
    return parse_stat(read_file(path.data(), text), state);
}

// Without any file: a zombie has no memory any more.
bool exists_with_memory(std::int64_t pid) noexcept {
    char byte = 0;
    const iovec here{&byte, 1};
    const iovec there{nullptr, 1};  // nowhere; who may be read answers EFAULT
    if (::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) < 0 && errno == ESRCH) return false;
    return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

std::uint64_t namespace_of_pids() noexcept {
    struct stat info = {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

std::uint64_t boot_of_kernel() noexcept {
    Text text;
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char byte : read_file("/proc/sys/kernel/random/boot_id", text))
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
    return hash;
}

// Read once, when a rank registers: later there may be no descriptor left to read it with.
struct Machine {
    std::uint64_t pid_namespace = namespace_of_pids();
    std::uint64_t boot = boot_of_kernel();
};

const Machine& this_machine() noexcept {
    static const Machine machine;
    return machine;
}

}  // namespace

Identity own_identity() noexcept {
    ProcessState state;
    process_state(::getpid(), state);
    return {::getpid(), state.start, this_machine().pid_namespace, this_machine().boot, state.stack};
}

bool is_in_this_namespace(const Identity& identity) noexcept {
    return identity.pid_namespace == this_machine().pid_namespace;
}

Vitality vitality_of(const Identity& identity) noexcept {
    if (identity.boot != this_machine().boot) return Vitality::dead;
    if (!is_in_this_namespace(identity)) return Vitality::running;  // not to be seen from here
    ProcessState state;
    if (!process_state(identity.pid, state))  // no such entry, no /proc, or no descriptor left to open it with
        return exists_with_memory(identity.pid) ? Vitality::running : Vitality::dead;
    if (identity.start != 0 && state.start != identity.start) return Vitality::dead;
    if (identity.stack != 0 && state.stack != 0 && state.stack != identity.stack) return Vitality::dead;
    switch (state.letter) {
        case 'Z':
        case 'X':
        case 'x': return Vitality::dead;
        case 'T':
        case 't': return Vitality::stopped;
        default: return Vitality::running;
    }
}

}  // namespace cobre::shm
