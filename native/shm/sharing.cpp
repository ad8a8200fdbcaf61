// The collectives that hand out memory: regions, and the segment for a split communicator.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shm/communicator.hpp"
#include "shm/segment.hpp"
#include "shm/temporary_name.hpp"

namespace cobre::shm {

namespace {

// Two strings, one after the other.
void write_note(Header& header, const std::string& text, const std::string& fix) noexcept {
    std::snprintf(header.note.data(), header.note.size(), "%s%c%s", text.c_str(), '\n', fix.c_str());
}

[[noreturn]] void throw_noted_refusal(const Header& header, std::uint64_t bytes) {
    const std::string note = header.note.data();
    const std::size_t end = note.find('\n');
    throw comm::Error(comm::ErrorClass::allocation_failed, "",
                      static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)), 0, note.substr(0, end),
                      end == std::string::npos ? "" : note.substr(end + 1));
}

}  // namespace

comm::Failure Communicator::interruption(const PackedCall& call) const {
    return {"rank " + std::to_string(group().rank) + " was interrupted by a signal in " + call.describe(),
            "start all ranks again"};
}

// The others open the leader's file where the kernel lists it, so that it never has a name that could be left.
std::shared_ptr<Mapping> Communicator::share_memory(const PackedCall& call, std::uint64_t bytes, const Room& room,
                                                    const char* purpose, bool is_segment, comm::Caller& caller) {
    team_.begin(call, caller);
    team_.publish(call, 0);
    team_.agree(call);
    ++shared_so_far_;
    caller.release_locks();

    comm::Descriptor file;  // the leader's: open until all have opened it
    std::shared_ptr<Mapping> memory;
    bool is_well = true;
    if (group().rank == 0) {
        try {
            file = create_reserved_file(bytes, room, purpose, caller);
            memory = std::make_shared<Mapping>(file, bytes);
            is_well = static_cast<bool>(*memory);
            if (!is_well)
                write_note(team_.header(),
                           std::string(purpose) + " of " + grouped(bytes) +
                               " bytes cannot be mapped: " + std::strerror(errno),
                           "raise the limit on address space (ulimit -v), or ask for less");
            else if (is_segment)
                Layout::initialise(memory->data(), static_cast<std::uint64_t>(group().size), team_.limits(),
                                   fresh_nonce());
        } catch (const comm::Error& error) {
            is_well = false;
            write_note(team_.header(), error.message(), error.fix());
        } catch (const comm::Interrupted&) {
            team_.waiter().record(interruption(call));
            throw;
        }
    }
    finish_step(call, is_well, {0, static_cast<std::uint64_t>(file.get())});
    if ((team_.flags(0) & PackedCall::is_ready) == 0) throw_noted_refusal(team_.header(), bytes);
    if (group().rank != 0) {
        const auto number = static_cast<int>(team_.offer(0).address);
        memory = std::make_shared<Mapping>(open_file_of(team_.entry(0).identity.pid, number), bytes);
    }
    finish_step(call, static_cast<bool>(*memory));
    if (!team_.all_have(PackedCall::is_ready)) share_by_name(call, file, memory, bytes, purpose);
    return memory;
}

// For ranks that may not look into the leader, or have no /proc.
void Communicator::share_by_name(const PackedCall& call, const comm::Descriptor& file,
                                 std::shared_ptr<Mapping>& memory, std::uint64_t bytes, const char* purpose) {
    const TemporaryName name(team_.header().nonce, shared_so_far_, team_.entry(0).identity);
    bool is_well = true;
    if (group().rank == 0) {
        const int error = link_file(file, name.get());
        is_well = error == 0;
        if (!is_well)
            write_note(team_.header(),
                       std::string(purpose) + " of " + grouped(bytes) +
                           " bytes cannot be shared: " + std::strerror(error),
                       "let this user write to /dev/shm and see its own processes in /proc");
    }
    finish_step(call, is_well);
    if ((team_.flags(0) & PackedCall::is_ready) == 0) throw_noted_refusal(team_.header(), bytes);
    int error = 0;
    if (!*memory) {
        const comm::Descriptor named = open_file(name.get());
        if (!named) error = errno;
        else if (memory = std::make_shared<Mapping>(named, bytes); !*memory) error = errno;
    }
    finish_step(call, error == 0, {0, static_cast<std::uint64_t>(error)});
    for (int rank = 0; rank < group().size; ++rank) {
        if ((team_.flags(rank) & PackedCall::is_ready) != 0) continue;
        const auto reason = static_cast<int>(team_.offer(rank).address);
        throw comm::Error(comm::ErrorClass::allocation_failed, "", static_cast<std::int64_t>(bytes), 0,
                          std::string(purpose) + " of " + grouped(bytes) + " bytes cannot be mapped by rank " +
                              std::to_string(rank) + ": " + std::strerror(reason),
                          is_lack_of_descriptors(reason)
                              ? "let that rank close files, or allow it more open ones (ulimit -n)"
                              : "raise that rank's limit on address space (ulimit -v), or ask for less");
    }
}

Region Communicator::create_region(std::uint64_t count, const comm::DType& dtype, const Room& room,
                                   comm::Caller& caller) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, std::uint64_t{dtype.itemsize}, &bytes)) bytes = UINT64_MAX;
    Region region;
    region.memory = share_memory(PackedCall(comm::Call::create_region(count, dtype)), bytes, room,
                                 "a shared region", false, caller);
    region.id = shared_so_far_;
    regions_.add(region);
    return region;
}

void Communicator::fence(std::uint64_t region, comm::Caller& caller) {
    const PackedCall call(comm::Call::fence(region));
    team_.begin(call, caller);
    team_.publish(call, 0);
    team_.agree(call);
}

}  // namespace cobre::shm
