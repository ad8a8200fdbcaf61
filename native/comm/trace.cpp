#include "comm/trace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>

#include "comm/lifetime.hpp"

namespace cobre::comm {

namespace {

// The file: a header, a block that is mapped and filled again and again, and after it the blocks that were full.
// Mapping ever new pages would cost a page fault every few records.
constexpr std::size_t header_bytes = 4096;
constexpr std::size_t block_bytes = std::size_t{32} << 10;
constexpr std::size_t block_records = block_bytes / sizeof(TraceEntry);
constexpr off_t blocks_begin = header_bytes + block_bytes;

struct TraceHeader {
    char magic[8] = {'C', 'O', 'B', 'R', 'E', 'T', 'R', 'C'};
    std::uint32_t version = 2;
    std::int32_t rank = 0;
    std::int32_t size = 1;
    std::int32_t pid = 0;
    std::int64_t realtime_minus_monotonic_ns = 0;  // aligns the clocks of several machines
    std::uint64_t count = 0;  // of records; those beyond the last full block are in the mapped one
    char backend[32] = {};
    char host[64] = {};
};
static_assert(sizeof(TraceHeader) <= header_bytes);

std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// The one file of this process. Mapped, so that a rank that is killed leaves everything up to its last collective.
class TraceFile {
public:
    // Null if no trace is wanted, and in a forked child: the file is its parent's.
    static TraceFile* of_process() noexcept {
        static TraceFile* const file = wanted();
        return file != nullptr && file->generation_ == fork_generation() ? file : nullptr;
    }

    std::uint8_t introduce(Group group, const char* backend) noexcept {
        const std::lock_guard lock(mutex_);
        // A rank that is alone may be part of a group by another communicator, made before or after it.
        if (communicators_ == 0 || (header_.size == 1 && group.size > 1 && fd_ < 0)) {
            header_.rank = group.rank;
            header_.size = group.size;
            std::snprintf(header_.backend, sizeof header_.backend, "%s", backend);
        }
        return static_cast<std::uint8_t>(communicators_++);
    }

    void add(const TraceEntry& record) noexcept {
        const std::lock_guard lock(mutex_);
        if (generation_ != fork_generation() || is_broken_) return;
        if (fd_ < 0 && !open()) return;
        std::memcpy(block_ + used_ * sizeof record, &record, sizeof record);
        used_ += 1;
        // Before the count: a process that is killed in between leaves all records but this one.
        if (used_ == block_records && !keep_block()) return;
        header_in_file_->count += 1;
    }

private:
    explicit TraceFile(const char* path) : path_(path) {}

    static TraceFile* wanted() noexcept {
        const char* path = std::getenv("COBRE_COMM_TRACE");
        // Never destroyed: communicators may outlive static objects, and the kernel writes what is mapped.
        return path == nullptr || *path == '\0' ? nullptr : new TraceFile(path);
    }

    bool open() noexcept {
        std::string name = path_ + ".rank" + std::to_string(header_.rank);
        fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0) {  // a process that calls itself the same rank
            ::close(fd_);
            name += "-" + std::to_string(getpid());
            fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        }
        path_ = name;
        if (fd_ < 0 || ftruncate(fd_, 0) != 0) return give_up();
        // Reserved now: a full disk must be an answer here, not a SIGBUS at a later store.
        if (const int refusal = posix_fallocate(fd_, 0, blocks_begin); refusal != 0) {
            errno = refusal;
            return give_up();
        }
        void* memory = mmap(nullptr, blocks_begin, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (memory == MAP_FAILED) return give_up();
        header_in_file_ = static_cast<TraceHeader*>(memory);
        block_ = static_cast<std::byte*>(memory) + header_bytes;
        header_.pid = getpid();
        header_.realtime_minus_monotonic_ns =
            static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
        gethostname(header_.host, sizeof header_.host - 1);
        std::memcpy(memory, &header_, sizeof header_);
        return true;
    }

    bool keep_block() noexcept {
        for (std::size_t done = 0; done < block_bytes;) {
            const ssize_t n = pwrite(fd_, block_ + done, block_bytes - done, end_ + static_cast<off_t>(done));
            if (n < 0 && errno != EINTR) return give_up();
            if (n > 0) done += static_cast<std::size_t>(n);
        }
        end_ += static_cast<off_t>(block_bytes);
        used_ = 0;
        return true;
    }

    bool give_up() noexcept {
        is_broken_ = true;
        std::fprintf(stderr, "cobre: the trace %s ends here: %s\n", path_.c_str(), std::strerror(errno));
        return false;
    }

    std::mutex mutex_;
    std::string path_;
    TraceHeader header_;
    TraceHeader* header_in_file_ = nullptr;
    std::byte* block_ = nullptr;
    std::size_t used_ = 0;  // records in the block
    off_t end_ = blocks_begin;
    int fd_ = -1;
    bool is_broken_ = false;
    std::uint32_t communicators_ = 0;
    std::uint64_t generation_ = fork_generation();
};

Track::Track(Group group, const char* backend) noexcept
    : file_(TraceFile::of_process()), size_(static_cast<std::uint16_t>(std::min(group.size, 65535))) {
    if (file_ != nullptr) communicator_ = file_->introduce(group, backend);
}

void Track::add(TraceEntry record) noexcept {
    if (file_ == nullptr) return;
    record.sequence = sequence_++;
    record.communicator = communicator_;
    record.size = size_;
    file_->add(record);
}

void TraceScope::begin(Operation operation) noexcept {
    before_ = entry_;
    record_.operation = static_cast<std::uint8_t>(operation);
    exceptions_ = std::uncaught_exceptions();
    record_.begin_ns = monotonic_ns();
}

void TraceScope::end() noexcept {
    record_.duration_s = static_cast<float>(static_cast<double>(monotonic_ns() - record_.begin_ns) * 1e-9);
    record_.wait_s = static_cast<float>(entry_.wait_s.get() - before_.wait_s.get());
    record_.bytes = entry_.bytes.get() - before_.bytes.get();
    if (std::uncaught_exceptions() > exceptions_) record_.operation |= TraceEntry::failed;
    track_->add(record_);
}

}  // namespace cobre::comm
