// One rank's place in the group: the steps in which all ranks say what they call, and the rings data moves
// through.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/arguments.hpp"
#include "shm/layout.hpp"
#include "shm/paths.hpp"
#include "shm/resource.hpp"
#include "shm/ring.hpp"
#include "shm/waiter.hpp"

namespace cobre::shm {

// In the payload of a slot that carries no data.
struct Offer {
    std::uint64_t place = 0;      // where the result is, if in a shared region; equal only for the same bytes
    std::uint64_t address = 0;    // of the contribution, for those who read it directly
    std::uint64_t result = 0;     // of the memory for an allreduce's result, likewise
    std::uint64_t prefilled = 0;  // chunks that were in the ring before the slot was published
    Path next = Path::rings;      // which path the next call of this size takes if this rank leads
};
static_assert(sizeof(Offer) <= slot_payload);

class Team {
public:
    Team(const Layout& layout, comm::Group group, const TimeLimit& limit, const comm::Lifetime& lifetime);

    comm::Group group() const noexcept { return group_; }
    const Limits& limits() const noexcept { return limits_; }
    Waiter& waiter() noexcept { return waiter_; }
    Header& header() const noexcept { return layout_.header(); }
    RankEntry& entry(int rank) const noexcept { return layout_.entry(rank); }
    // More ranks than cores.
    bool is_oversubscribed() const noexcept { return is_oversubscribed_; }

    // Opens the first step of a call. Throws the failure of an earlier one.
    void begin(const PackedCall& call, comm::Caller& caller);
    // Opens a further step of the same call.
    void begin_step() noexcept;
    // Throws if a rank has given up on the open step.
    void require_well() const;

    // What this rank's slot of the open step carries; written before `publish`.
    std::byte* my_payload() noexcept { return my_slot_->payload.data(); }
    void put(const Offer& offer) noexcept;
    void publish(const PackedCall& call, std::uint32_t flags) noexcept;

    // Waits until every rank has published this step, and compares. Afterwards every slot may be read until this
    // rank publishes its next step, and every chunk of earlier calls may be overwritten.
    void agree(const PackedCall& call);

    std::uint32_t flags(int rank) const noexcept;
    Offer offer(int rank) const noexcept;
    const std::byte* payload(int rank) const noexcept { return slot(rank).payload.data(); }
    bool all_have(std::uint32_t flag) const noexcept;

    // The rings. Chunks are counted from the start of the call, in which that rank's have `unit` bytes.
    void open_ring(int rank, std::uint64_t unit) noexcept { ring(rank).open(unit); }
    std::byte* chunk(int rank, std::uint64_t index) const noexcept {
        return layout_.ring(rank) + ring(rank).offset(index);
    }
    // Whether chunk `index` of mine fits: before `agree`, beside what others may still read of the call before;
    // after it, beside what they have not taken of this one.
    bool fits_early(std::uint64_t index) const noexcept { return ring(group_.rank).end_of(index) <= free_until_; }
    bool has_room(std::uint64_t index) noexcept;
    // Whether that reader is why it has none.
    bool is_held_up_by(int reader, std::uint64_t index) const noexcept;
    // Whether a writer of so many chunks ever asks what has been taken.
    bool asks_for_room(int writer, std::uint64_t chunks) const noexcept {
        return ring(writer).may_fill_up(chunks);
    }
    void announce_filled(std::uint64_t count) noexcept;
    void announce_folded(std::uint64_t count) noexcept;
    void announce_taken(int writer, std::uint64_t count) noexcept;
    // This rank has read another piece of a rank's memory: ranks that wait for it see its progress.
    void announce_read() noexcept;
    std::uint64_t filled(int rank) const noexcept;
    std::uint64_t folded(int rank) const noexcept;
    // At the end of a call: so many chunks went through that rank's ring.
    void advance(int rank, std::uint64_t chunks) noexcept { ring(rank).advance(chunks); }

private:
    const Slot& slot(int rank) const noexcept { return layout_.entry(rank).slots[sequence_ & 1]; }
    bool has_published(int rank) const noexcept;
    Ring& ring(int rank) noexcept { return rings_[static_cast<std::size_t>(rank)]; }
    const Ring& ring(int rank) const noexcept { return rings_[static_cast<std::size_t>(rank)]; }
    std::uint64_t base(int rank) const noexcept { return ring(rank).chunks_before(); }
    std::uint64_t taken(int reader) const noexcept;
    [[noreturn]] void report_disagreement(const PackedCall& call, int other);

    Layout layout_;
    comm::Group group_;
    Limits limits_;
    Waiter waiter_;
    Slot* my_slot_ = nullptr;
    std::uint64_t sequence_ = 0;
    std::vector<Ring> rings_;
    std::uint64_t free_until_ = 0;  // my ring may be written up to this position
    bool is_oversubscribed_ = true;
};

}  // namespace cobre::shm
