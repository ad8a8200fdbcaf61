// The collectives of the ranks of one machine. Arguments have passed the checks in comm/arguments.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/arguments.hpp"
#include "comm/lifetime.hpp"
#include "comm/statistics.hpp"
#include "comm/trace.hpp"
#include "shm/exchange.hpp"
#include "shm/file.hpp"
#include "shm/region.hpp"
#include "shm/resource.hpp"
#include "shm/segment.hpp"
#include "shm/team.hpp"

namespace cobre::shm {

class Communicator {
public:
    // Meets the other ranks. Throws comm::Error: InitializationFailed, or AllocationFailed without room.
    static std::unique_ptr<Communicator> start(const Meeting& meeting, double timeout_s, comm::Caller& caller);

    // `segment` has all ranks registered. Collective: finds out what the ranks may do with each other, as part of
    // `call` and within its limit.
    Communicator(std::shared_ptr<Mapping> segment, comm::Group group, double timeout_s, const PackedCall& call,
                 const TimeLimit& for_call, comm::Caller& caller);
    ~Communicator() { close(); }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    // Callers serialise these. Each may throw comm::Error or Interrupted.
    void allgatherv(const comm::Buffer& send, const comm::Buffer& recv, const comm::Layout& layout,
                    comm::Caller& caller);
    void allreduce(const comm::Buffer& send, const comm::Buffer& recv, comm::ReduceOp op, comm::Caller& caller);
    void broadcast(const comm::Buffer& buf, int root, comm::Caller& caller);
    void barrier(comm::Caller& caller);

    // `room` is what this rank's machine allows; the leader's counts. AllocationFailed on all ranks or on none.
    Region create_region(std::uint64_t count, const comm::DType& dtype, const Room& room, comm::Caller& caller);
    void fence(std::uint64_t region, comm::Caller& caller);
    // Another communicator of the same ranks.
    std::unique_ptr<Communicator> split(const Room& room, comm::Caller& caller);

    // From any thread; a collective that waits elsewhere in this process fails. Never waits.
    void close() noexcept;

    comm::Group group() const noexcept { return team_.group(); }
    comm::Lifetime& lifetime() noexcept { return lifetime_; }
    const comm::Statistics& statistics() const noexcept { return statistics_; }

private:
    comm::Failure interruption(const PackedCall& call) const;
    std::uint64_t place_of(const comm::Buffer& recv, const comm::Layout& layout) const noexcept;
    bool all_at(std::uint64_t place) const noexcept;
    bool may_read(std::uint64_t bytes) const noexcept {
        return may_read_ && bytes >= team_.limits().vm_read_bytes;
    }
    void finish_step(const PackedCall& call, bool is_well, const Offer& offer = {});
    void open_ring(int rank) noexcept;
    void move_lanes(const PackedCall& call, std::uint64_t total, Path path);
    bool read_from(int rank, std::uint64_t address, std::byte* to, std::uint64_t bytes);
    bool read_lanes(const PackedCall& call, bool around_cache);
    bool fold_directly(const PackedCall& call, const Reduction& reduction);
    std::shared_ptr<Mapping> share_memory(const PackedCall& call, std::uint64_t bytes, const Room& room,
                                          const char* purpose, bool is_segment, comm::Caller& caller);
    void share_by_name(const PackedCall& call, const comm::Descriptor& file, std::shared_ptr<Mapping>& memory,
                       std::uint64_t bytes, const char* purpose);

    comm::Lifetime lifetime_;
    std::shared_ptr<Mapping> segment_;
    Team team_;
    double timeout_s_;
    RegionTable regions_;
    std::vector<Lane> lanes_;
    std::vector<const std::byte*> rows_;
    std::vector<std::byte> others_;  // what fold_directly has read
    std::uint64_t shared_so_far_ = 0;
    bool may_read_ = false;
    Paths paths_;
    comm::Statistics statistics_;
    comm::Track track_;
};

// For the files that implement it.
inline std::size_t at(int rank) noexcept { return static_cast<std::size_t>(rank); }
inline std::uint64_t address_of(const std::byte* data) noexcept { return reinterpret_cast<std::uint64_t>(data); }

}  // namespace cobre::shm
