#include "shm/team.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace cobre::shm {

namespace {

void prepare_to_write(const void* line) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // the compiler's own would only read
#else
    __builtin_prefetch(line, 1);
#endif
}

}  // namespace

Team::Team(const Layout& layout, comm::Group group, const TimeLimit& limit, const comm::Lifetime& lifetime)
    : layout_(layout),
      group_(group),
      limits_(layout.header().limits),
      waiter_(layout, group, limit, lifetime),
      rings_(static_cast<std::size_t>(group.size), Ring(limits_.ring_bytes)),
      free_until_(limits_.ring_bytes) {
    comm::CpuMask cpus;
    int quota = layout.entry(0).cpu_quota;
    bool have_barriers = true;
    for (const RankEntry& entry : layout.entries()) {
        have_barriers = have_barriers && entry.accepts_barriers;
        cpus.add(entry.cpus);
        quota = std::min(quota, entry.cpu_quota);
    }
    is_oversubscribed_ = group.size > std::min(cpus.count(), quota);
    waiter_.set_policy(WaitPolicy::for_group(is_oversubscribed_, have_barriers));
}

void Team::begin(const PackedCall& call, comm::Caller& caller) {
    begin_step();
    waiter_.begin(sequence_, call, caller);
    require_well();
}

void Team::require_well() const {
    if (has_failed(header(), sequence_)) [[unlikely]]
        waiter_.repeat_failure();
}

void Team::begin_step() noexcept {
    ++sequence_;
    my_slot_ = &layout_.entry(group_.rank).slots[sequence_ & 1];
    waiter_.advance(sequence_);
}

void Team::put(const Offer& offer) noexcept { std::memcpy(my_payload(), &offer, sizeof offer); }

void Team::publish(const PackedCall& call, std::uint32_t flags) noexcept {
    my_slot_->detail = call.detail();
    // Release pairs with the acquire in has_published: payload, detail and prefilled chunks come before it.
    my_slot_->word.store((sequence_ << 32) | call.bits() | flags, std::memory_order_release);
    waiter_.wake();
}

bool Team::has_published(int rank) const noexcept {
    // Acquire pairs with the release in publish. Equality is enough: no rank is ever more than one step ahead, and
    // that step is in the other slot.
    return slot(rank).word.load(std::memory_order_acquire) >> 32 == (sequence_ & 0xFFFFFFFFU);
}

void Team::agree(const PackedCall& call) {
    for (int i = 1; i < group_.size; ++i) {
        const int peer = group_.rank + i < group_.size ? group_.rank + i : group_.rank + i - group_.size;
        waiter_.for_rank(
            peer, [&] { return has_published(peer); }, [&](int rank) { return !has_published(rank); });
        const Slot& theirs = slot(peer);
        const std::uint64_t word = theirs.word.load(std::memory_order_relaxed);
        if (((word ^ call.bits()) & PackedCall::signature_bits) != 0 || theirs.detail != call.detail())
            [[unlikely]]
            report_disagreement(call, peer);
    }
    free_until_ = ring(group_.rank).position() + limits_.ring_bytes;
    // All have read the other slot: fetching its line for writing now overlaps with the way back to
    // the caller, and the next publication finds it here.
    prepare_to_write(&layout_.entry(group_.rank).slots[(sequence_ + 1) & 1]);
}

std::uint32_t Team::flags(int rank) const noexcept {
    return static_cast<std::uint32_t>(slot(rank).word.load(std::memory_order_relaxed)) &
           ~PackedCall::signature_bits;
}

Offer Team::offer(int rank) const noexcept {
    Offer offer;
    std::memcpy(&offer, payload(rank), sizeof offer);
    return offer;
}

bool Team::all_have(std::uint32_t flag) const noexcept {
    for (int rank = 0; rank < group_.size; ++rank)
        if ((flags(rank) & flag) == 0) return false;
    return true;
}

bool Team::has_room(std::uint64_t index) noexcept {
    const Ring& mine = ring(group_.rank);
    if (mine.end_of(index) <= free_until_) return true;
    std::uint64_t slowest = index;
    for (int reader = 0; reader < group_.size; ++reader)
        if (reader != group_.rank) slowest = std::min(slowest, taken(reader));
    free_until_ = std::max(free_until_, mine.begin_of(slowest) + mine.bytes());
    return mine.end_of(index) <= free_until_;
}

bool Team::is_held_up_by(int reader, std::uint64_t index) const noexcept {
    const Ring& mine = ring(group_.rank);
    return mine.end_of(index) > mine.begin_of(std::min(index, taken(reader))) + mine.bytes();
}

void Team::announce_filled(std::uint64_t count) noexcept {
    // Release pairs with the acquire in filled: the chunk's bytes come before it.
    layout_.entry(group_.rank).filled.position.store(base(group_.rank) + count, std::memory_order_release);
    waiter_.wake();
}

void Team::announce_folded(std::uint64_t count) noexcept {
    // Release pairs with the acquire in folded.
    layout_.entry(group_.rank).folded.position.store(base(group_.rank) + count, std::memory_order_release);
    waiter_.wake();
}

void Team::announce_taken(int writer, std::uint64_t count) noexcept {
    // Release pairs with the acquire in taken.
    layout_.consumed(writer, group_.rank).position.store(base(writer) + count, std::memory_order_release);
    waiter_.wake();
}

void Team::announce_read() noexcept {
    // Relaxed: it orders nothing, and no rank sleeps until it changes.
    layout_.entry(group_.rank).read.position.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t Team::filled(int rank) const noexcept {
    const std::uint64_t position = layout_.entry(rank).filled.position.load(std::memory_order_acquire);
    return position > base(rank) ? position - base(rank) : 0;
}

std::uint64_t Team::folded(int rank) const noexcept {
    const std::uint64_t position = layout_.entry(rank).folded.position.load(std::memory_order_acquire);
    return position > base(rank) ? position - base(rank) : 0;
}

// Chunks of mine that the reader is done with.
std::uint64_t Team::taken(int reader) const noexcept {
    // Acquire pairs with the release in announce_taken: what it read, it has read.
    const Flag& flag = layout_.consumed(group_.rank, reader);
    const std::uint64_t position = flag.position.load(std::memory_order_acquire);
    return position > base(group_.rank) ? position - base(group_.rank) : 0;
}

// Every rank sees the disagreement, publishes its own call as text, and reads that of the other rank. If the other
// rank is gone or late, the two words of its slot have to do.
void Team::report_disagreement(const PackedCall& call, int other) {
    CallText& mine = layout_.entry(group_.rank).call;
    const std::string my_text = call.describe();
    const std::size_t used = std::min(my_text.size(), mine.text.size() - 1);
    std::memcpy(mine.text.data(), my_text.data(), used);
    // Release pairs with the acquire below, on the other rank.
    mine.sequence.store(sequence_, std::memory_order_release);

    const Slot& slot_there = slot(other);
    const auto bits = static_cast<std::uint32_t>(slot_there.word.load(std::memory_order_relaxed));
    std::string their_text = PackedCall::unpack(bits & PackedCall::signature_bits, slot_there.detail).describe();
    for (int attempt = 0; attempt < 100; ++attempt) {
        const CallText& theirs = layout_.entry(other).call;
        if (theirs.sequence.load(std::memory_order_acquire) == sequence_) {
            their_text = theirs.text.data();
            break;
        }
        if (has_failed(header(), sequence_)) waiter_.repeat_failure();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    const auto says = [](int rank, const std::string& text) {
        return "rank " + std::to_string(rank) + " called " + text;
    };
    const bool am_first = group_.rank < other;
    waiter_.fail({(am_first ? says(group_.rank, my_text) : says(other, their_text)) + " but " +
                      (am_first ? says(other, their_text) : says(group_.rank, my_text)),
                  "let every rank make the same calls in the same order, with the same sizes and types"});
}

}  // namespace cobre::shm
