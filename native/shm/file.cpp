#include "shm/file.hpp"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "comm/deadline.hpp"

namespace cobre::shm {

namespace {

constexpr const char* directory = "/dev/shm";

constexpr double look_every_s = 0.02;  // whether a signal has come; it takes the GIL

std::string path_of(const std::string& name) { return directory + name; }

// For as long as it exists, pages are taken from all NUMA nodes in turn; on one node it does nothing. The leader
// reserves the pages of all ranks, and by default they would all be its own node's.
class Interleaved {
public:
    Interleaved() noexcept {
        std::array<unsigned long, 16> allowed = {};
        if (::syscall(SYS_get_mempolicy, nullptr, allowed.data(), bits, nullptr, MPOL_F_MEMS_ALLOWED) != 0) return;
        int nodes = 0;
        for (const unsigned long word : allowed) nodes += std::popcount(word);
        if (nodes < 2 || ::syscall(SYS_get_mempolicy, &mode_, old_.data(), bits, nullptr, 0) != 0) return;
        is_set_ = ::syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, allowed.data(), bits) == 0;
    }
    ~Interleaved() {
        if (is_set_) ::syscall(SYS_set_mempolicy, mode_, old_.data(), bits);
    }
    Interleaved(const Interleaved&) = delete;
    Interleaved& operator=(const Interleaved&) = delete;

private:
    static constexpr unsigned long bits = 16 * 8 * sizeof(unsigned long);

    std::array<unsigned long, 16> old_ = {};
    int mode_ = MPOL_DEFAULT;
    bool is_set_ = false;
};

[[noreturn]] void refuse(std::uint64_t needed, const std::string& text, const std::string& fix) {
    const auto requested = static_cast<std::int64_t>(std::min<std::uint64_t>(needed, INT64_MAX));
    throw comm::Error(comm::ErrorClass::allocation_failed, "", requested, 0, text, fix);
}

[[noreturn]] void refuse_for_size(std::uint64_t needed, std::uint64_t available, const char* purpose) {
    refuse(needed,
           std::string(purpose) + " needs " + grouped(needed) + " bytes but only " + grouped(available) +
               " are available in " + directory,
           "enlarge it (as root: mount -o remount,size=SIZE /dev/shm; in a container: docker or podman run "
           "--shm-size=SIZE, Kubernetes: an emptyDir of medium Memory at /dev/shm), or ask for less");
}

void require_room(std::uint64_t needed, const Room& room, const char* purpose) {
    if (needed > room.bytes)
        refuse(needed,
               std::string(purpose) + " needs " + grouped(needed) + " bytes but only " + grouped(room.bytes) +
                   " are available (" + room.limited_by + ")",
               "ask for less, free memory, or raise the limit named above (in a container: its memory limit)");
    struct statvfs info = {};
    if (::statvfs(directory, &info) != 0 || info.f_blocks == 0) return;  // no limit, or fallocate will fail
    const std::uint64_t available = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
    if (needed > available) refuse_for_size(needed, available, purpose);
}

}  // namespace

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
    return text;
}

bool is_lack_of_descriptors(int error) noexcept { return error == EMFILE || error == ENFILE; }

comm::Descriptor create_reserved_file(std::uint64_t bytes, const Room& room, const char* purpose,
                                      comm::Caller& caller) {
    require_room(bytes, room, purpose);
    comm::Descriptor file(::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file) {
        const int error = errno;
        refuse(bytes, std::string("cannot create a file in ") + directory + ": " + std::strerror(error),
               is_lack_of_descriptors(error) ? "close files, or allow more open ones (ulimit -n)"
                                             : "make /dev/shm a tmpfs that this user may write to");
    }
    ::fchmod(file.get(), 0600);  // whatever the umask says
    const Interleaved interleaved;
    // In steps, so that a signal does not wait for the end of it. Kernels whose reservation a signal interrupts
    // take back what it had done: then smaller steps are made, which end before the next signal of a timer.
    constexpr std::uint64_t longest_step = 8ULL << 20;
    constexpr std::uint64_t shortest_step = 4096;
    std::uint64_t step = longest_step;
    comm::Deadline until_look(look_every_s);
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t part = std::min(step, bytes - done);
        const int error = ::posix_fallocate(file.get(), static_cast<off_t>(done), static_cast<off_t>(part));
        if (error == 0) done += part;
        step = error == EINTR ? std::max(step / 2, shortest_step) : std::min(step * 2, longest_step);
        if (error == EINTR || until_look.is_over()) {
            if (caller.is_interrupted()) throw comm::Interrupted{};
            until_look = comm::Deadline(look_every_s);
        }
        if (error == ENOSPC) refuse_for_size(bytes, done, purpose);
        if (error != 0 && error != EINTR)
            refuse(bytes,
                   std::string(purpose) + " needs " + grouped(bytes) + " bytes, which cannot be reserved after " +
                       grouped(done) + ": " + std::strerror(error),
                   "raise the limit on memory or file size (ulimit -f, the container's memory), or ask for less");
    }
    return file;
}

int link_file(const comm::Descriptor& file, const std::string& name) noexcept {
    const std::string self = "/proc/self/fd/" + std::to_string(file.get());
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_of(name).c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

comm::Descriptor open_file(const std::string& name) noexcept {
    return comm::Descriptor(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
}

comm::Descriptor open_file_of(std::int64_t pid, int number) noexcept {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
    return comm::Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

namespace {

struct flock whole_file() noexcept {
    struct flock range = {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    return range;
}

}  // namespace

void hold(const comm::Descriptor& file) noexcept {
    struct flock range = whole_file();
    ::fcntl(file.get(), F_OFD_SETLK, &range);
}

bool is_held(const comm::Descriptor& file) noexcept {
    struct flock range = whole_file();
    return ::fcntl(file.get(), F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

bool is_named(const comm::Descriptor& file, const std::string& name) noexcept {
    struct stat here = {};
    struct stat there = {};
    return ::fstat(file.get(), &here) == 0 && ::lstat(path_of(name).c_str(), &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

void unlink_file(const comm::Descriptor& file, const std::string& name) noexcept {
    if (is_named(file, name)) unlink_name(name);
}

void unlink_name(const std::string& name) noexcept { ::unlink(path_of(name).c_str()); }

}  // namespace cobre::shm
