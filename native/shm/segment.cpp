#include "shm/segment.hpp"

#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "shm/futex.hpp"
#include "shm/registration.hpp"
#include "shm/temporary_name.hpp"

namespace cobre::shm {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Takes the name away. Two processes may try at once: the lock lets the second see that the name is new.
void reclaim(const comm::Descriptor& file, const std::string& name) noexcept {
    if (::flock(file.get(), LOCK_EX) == 0) unlink_file(file, name);
    ::flock(file.get(), LOCK_UN);
}

std::size_t size_of_own(const comm::Descriptor& file, const std::string& name) {
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0) refuse_start(quoted(name) + ": " + std::strerror(errno), "try again");
    if (info.st_uid != ::geteuid())
        refuse_start(quoted(name) + " belongs to user " + std::to_string(info.st_uid) + ", not to this one (" +
                         std::to_string(::geteuid()) + ")",
                     "start all ranks as one user, or choose another COBRE_SHM_NAME");
    return static_cast<std::size_t>(info.st_size);
}

// An existing file of the segment's name, judged before anything in it is believed.
class Found {
public:
    Found(comm::Descriptor file, const std::string& name) : file_(std::move(file)) {
        const std::size_t bytes = size_of_own(file_, name);
        if (bytes >= sizeof(Header)) memory_ = std::make_shared<Mapping>(file_, bytes);
        if (!memory_ || !*memory_ || header().magic != Layout::magic)
            refuse_start("/dev/shm" + name + " exists but is not a Cobre segment",
                         "choose another COBRE_SHM_NAME, or remove that file if it is yours");
    }

    Header& header() const noexcept { return *reinterpret_cast<Header*>(memory_->data()); }
    bool is_of_this_version() const noexcept {
        return header().version == Layout::version && header().record_bytes == sizeof(RankEntry);
    }
    comm::ProcessIdentity creator() const noexcept {
        comm::ProcessIdentity identity = header().creator;
        if (!is_of_this_version()) identity.stack = 0;  // earlier ones had none
        return identity;
    }
    // For a process in another PID namespace only the lock shows this, and earlier versions did not take it.
    bool is_orphaned() const noexcept {
        if (comm::state_of(creator()) == comm::ProcessState::dead) return true;
        return is_of_this_version() && !comm::is_in_this_namespace(creator()) && !is_held(file_);
    }
    std::string made_by() const {
        return process_text(creator()) + (is_of_this_version() ? "" : ", of another version of Cobre") +
               (comm::is_in_this_namespace(creator()) ? ", alive" : ", in another container or PID namespace");
    }

    // Before anything behind the creator is believed.
    void require_layout(const std::string& name) const {
        if (is_of_this_version() && header().total_bytes == memory_->size()) return;
        refuse_start(quoted(name) + " was made by another version of Cobre (" + process_text(creator()) +
                         ", layout " + std::to_string(header().version) + "." +
                         std::to_string(header().record_bytes) + ", here " + std::to_string(Layout::version) +
                         "." + std::to_string(sizeof(RankEntry)) + ")",
                     "install one version of pycobre for all ranks, or choose another COBRE_SHM_NAME");
    }

    const comm::Descriptor& file() const noexcept { return file_; }
    comm::Descriptor release_file() noexcept { return std::move(file_); }
    std::shared_ptr<Mapping> memory() const noexcept { return memory_; }

private:
    comm::Descriptor file_;
    std::shared_ptr<Mapping> memory_;
};

class Entrance {
public:
    Entrance(const Meeting& meeting, comm::Caller& caller) : meeting_(meeting), caller_(caller) {}

    std::shared_ptr<Mapping> enter() {
        std::shared_ptr<Mapping> memory = meeting_.group.rank == 0 ? create() : find();
        const Layout layout(memory->data());
        try {
            register_rank(layout, meeting_.group);
            await_all(layout, meeting_.name, meeting_.group, meeting_.deadline, caller_);
        } catch (...) {
            if (meeting_.group.rank == 0) unlink_file(file_, meeting_.name);
            else if (comm::state_of(layout.header().creator) == comm::ProcessState::dead)
                reclaim(file_, meeting_.name);
            throw;
        }
        unlink_file(file_, meeting_.name);  // every rank does, so that it is gone when any of them goes on
        return memory;
    }

private:
    std::shared_ptr<Mapping> create() {
        const auto size = static_cast<std::uint64_t>(meeting_.group.size);
        const std::uint64_t bytes = Layout::bytes_for(size, meeting_.limits);
        try {
            file_ = create_reserved_file(bytes, meeting_.room, "the shm segment", caller_);
        } catch (const comm::Error& error) {
            publish_refusal({"rank 0 could not start: " + error.message(), error.fix()}, bytes);
            throw;
        }
        auto memory = std::make_shared<Mapping>(file_, bytes);
        if (!*memory)
            refuse_start(std::string("cannot map the segment: ") + std::strerror(errno), "raise ulimit -v");
        Layout::initialise(memory->data(), size, meeting_.limits, fresh_nonce());
        hold(file_);
        for (;;) {
            const int error = link_file(file_, meeting_.name);
            if (error == 0) return memory;
            if (error != EEXIST)
                refuse_start("cannot create " + quoted(meeting_.name) + ": " + std::strerror(error),
                             "let this user write to /dev/shm, or choose another COBRE_SHM_NAME");
            reclaim_or_refuse();
        }
    }

    // A segment without rings, with room for nothing but the reason, so that the others need not wait for their
    // deadline to learn it. Where there is not even room for that, they do.
    void publish_refusal(const comm::Failure& failure, std::uint64_t needed) {
        const auto size = static_cast<std::uint64_t>(meeting_.group.size);
        Limits bare = meeting_.limits;
        bare.ring_bytes = 0;
        const std::uint64_t bytes = Layout::bytes_for(size, bare);
        try {
            file_ = create_reserved_file(bytes, {}, "the shm segment", caller_);
        } catch (const comm::Error&) {
            return;
        }
        const Mapping memory(file_, bytes);
        if (!memory) return;
        Layout::initialise(memory.data(), size, bare, needed);
        Header& header = Layout(memory.data()).header();
        record_failure(header, 0, failure);
        hold(file_);
        if (link_file(file_, meeting_.name) != 0) return;
        // Who comes later than this sees no segment, as if rank 0 had never started.
        const comm::Deadline deadline(std::min(meeting_.deadline.left_s(), 2.0));
        for (;;) {
            // Acquire is not needed: that they have come is all that counts.
            const std::uint32_t come = header.attached.load(std::memory_order_relaxed);
            if (come + 1 >= size || deadline.is_over()) break;
            caller_.release_locks();
            futex_wait(header.attached, come, microseconds{20'000});
            if (caller_.is_interrupted()) {
                unlink_file(file_, meeting_.name);
                throw comm::Interrupted{};
            }
        }
        unlink_file(file_, meeting_.name);
    }

    void reclaim_or_refuse() {
        comm::Descriptor existing = open_existing();
        if (!existing) return;  // gone meanwhile
        const Found found(std::move(existing), meeting_.name);
        if (!found.is_orphaned())
            refuse_start(
                quoted(meeting_.name) + " belongs to a group that is starting: its rank 0 is " + found.made_by(),
                "choose another COBRE_SHM_NAME, or end that process first");
        reclaim(found.file(), meeting_.name);
    }

    comm::Descriptor open_existing() const {
        comm::Descriptor file = open_file(meeting_.name);
        if (!file && errno != ENOENT)
            refuse_start("cannot open " + quoted(meeting_.name) + ": " + std::strerror(errno),
                         "start all ranks as one user, or choose another COBRE_SHM_NAME");
        return file;
    }

    std::shared_ptr<Mapping> find() {
        std::string state = "does not exist: rank 0 has not started";
        for (microseconds pause{200};; pause = std::min(2 * pause, microseconds{5000})) {
            if (comm::Descriptor file = open_existing()) {
                Found found(std::move(file), meeting_.name);
                if (!found.is_orphaned()) return enter_found(found);
                // Rank 0 may never be started again, and then this file would stay.
                reclaim(found.file(), meeting_.name);
                state = "was left by " + process_text(found.creator()) + ", which is dead; rank 0 has not started";
            }
            if (meeting_.deadline.is_over())
                refuse_start(quoted(meeting_.name) + " " + state,
                             "start rank 0, give all ranks the same COBRE_SHM_NAME, or raise "
                             "COBRE_SHM_CONNECT_TIMEOUT_MS; see rank 0's output if it failed");
            caller_.release_locks();
            std::this_thread::sleep_for(pause);
            if (caller_.is_interrupted()) throw comm::Interrupted{};
        }
    }

    // What rank 0 left in `publish_refusal`.
    [[noreturn]] static void repeat_word(Header& header) {
        header.attached.fetch_add(1, std::memory_order_relaxed);
        futex_wake(header.attached, largest_group);
        const comm::Failure failure = recorded_failure(header);
        throw comm::Error(comm::ErrorClass::allocation_failed, "", static_cast<std::int64_t>(header.nonce), 0,
                          failure.text, failure.fix);
    }

    std::shared_ptr<Mapping> enter_found(Found& found) {
        found.require_layout(meeting_.name);
        if (found.header().limits.ring_bytes == 0) repeat_word(found.header());
        const auto size = static_cast<std::uint64_t>(meeting_.group.size);
        if (found.header().size != size)
            refuse_for_all(found.header(), {"rank " + std::to_string(meeting_.group.rank) +
                                                " was started with size " + std::to_string(size) +
                                                " but rank 0 with size " + std::to_string(found.header().size),
                                            "give every rank the same COBRE_SHM_SIZE"});
        std::shared_ptr<Mapping> memory = found.memory();
        file_ = found.release_file();
        return memory;
    }

    const Meeting& meeting_;
    comm::Caller& caller_;
    comm::Descriptor file_;
};

}  // namespace

std::shared_ptr<Mapping> meet(const Meeting& meeting, comm::Caller& caller) {
    if (meeting.group.size > largest_group)
        refuse_start(std::to_string(meeting.group.size) + " ranks are more than one machine runs; the most is " +
                         std::to_string(largest_group),
                     "start fewer ranks, or use tcp or mpi over several machines");
    if (meeting.group.size > 1) return Entrance(meeting, caller).enter();
    std::shared_ptr<Mapping> memory = make_private_segment(1, meeting.limits);
    register_rank(Layout(memory->data()), meeting.group);
    return memory;
}

std::shared_ptr<Mapping> make_private_segment(int size, const Limits& limits) {
    const auto ranks = static_cast<std::uint64_t>(size);
    auto memory = std::make_shared<Mapping>(Layout::bytes_for(ranks, limits));
    if (!*memory) refuse_start(std::string("cannot map the segment: ") + std::strerror(errno), "raise ulimit -v");
    Layout::initialise(memory->data(), ranks, limits, fresh_nonce());
    return memory;
}

Limits sane(Limits limits, int size) noexcept {
    constexpr std::uint64_t widest_element = 16;  // a chunk holds at least one element of each reducible type
    // All rings together: a container's /dev/shm often has 64 MB.
    constexpr std::uint64_t all_rings = 24ULL << 20;
    const std::uint64_t share = all_rings / static_cast<std::uint64_t>(std::max(size, 1));
    if (limits.ring_bytes > share) {
        limits.ring_bytes = share;
        limits.chunk_bytes = std::min(limits.chunk_bytes, share / 4);
    }
    limits.chunk_bytes = std::clamp<std::uint64_t>(limits.chunk_bytes, widest_element, 1ULL << 30);
    limits.ring_bytes = std::clamp<std::uint64_t>(limits.ring_bytes, limits.chunk_bytes, 1ULL << 32);
    limits.ring_bytes = (limits.ring_bytes + cache_line - 1) / cache_line * cache_line;
    limits.inline_bytes = std::min<std::uint64_t>(limits.inline_bytes, slot_payload);
    return limits;
}

std::uint64_t fresh_nonce() {
    std::uint64_t nonce = 0;
    if (::getrandom(&nonce, sizeof nonce, 0) != static_cast<ssize_t>(sizeof nonce))
        nonce = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) ^
                (static_cast<std::uint64_t>(::getpid()) << 40);
    return nonce;
}

Creator creator_of(const std::string& name) {
    comm::Descriptor file = open_file(name);
    if (!file)
        refuse_start("cannot open " + quoted(name) + ": " + std::strerror(errno),
                     "look at it as the user who made it");
    if (const comm::ProcessIdentity maker = maker_in(name); maker.pid != 0) {
        size_of_own(file, name);
        return {maker.pid, comm::state_of(maker) != comm::ProcessState::dead};
    }
    const Found found(std::move(file), name);
    return {found.creator().pid, !found.is_orphaned()};
}

bool reclaim_orphan(const std::string& name) {
    comm::Descriptor file = open_file(name);
    if (!file || creator_of(name).is_alive) return false;
    reclaim(file, name);
    return true;
}

}  // namespace cobre::shm
