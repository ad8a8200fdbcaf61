// Layout of the segment. Everything that two ranks write has a cache line of its own.
//
//   Header | RankEntry per rank | consumed: one flag per (writer, reader) | ring per rank
//
// Orderings, once for all: a rank that publishes stores with release after the data; a rank that waits loads with
// acquire before reading it. A slot of sequence n is overwritten by n + 2, which its owner may write only
// after it has seen every peer's n + 1, and a peer writes n + 1 only after it has finished reading n.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/machine.hpp"
#include "comm/process.hpp"

namespace cobre::shm {

constexpr std::size_t cache_line = 64;
constexpr std::size_t slot_payload = 48;
constexpr int largest_group = 1024;

// Sizes that a test may shrink. Rank 0's are stored in the header and hold for all.
struct Limits {
    std::uint64_t chunk_bytes = 128 * 1024;      // one step of the pipeline; in the second-level cache
    std::uint64_t ring_bytes = 2 * 1024 * 1024;  // per rank; twice the second-level cache, see ring.hpp
    std::uint64_t inline_bytes = slot_payload;   // up to this a payload travels in the slot itself
    std::uint64_t slice_bytes = 32 * 1024;       // allreduce of three or more ranks: from here each folds a part
    std::uint64_t vm_read_bytes = 256 * 1024;    // from here ranks may read each other's memory directly
};

// What one rank says about the step it is in. `word` is the sequence number (upper half) and the
// signature bits of the call; it is stored last.
struct alignas(cache_line) Slot {
    std::atomic<std::uint64_t> word = 0;
    std::uint64_t detail = 0;
    std::array<std::byte, slot_payload> payload = {};
};
static_assert(sizeof(Slot) == cache_line);

// Chunks that went through a ring, counted from the beginning of time.
struct alignas(cache_line) Flag {
    std::atomic<std::uint64_t> position = 0;
};

// Where a rank sleeps. `asleep_for` names the rank that it waits for: only that rank wakes it.
struct alignas(cache_line) SleepState {
    static constexpr std::uint32_t no_rank = 0;
    static constexpr std::uint32_t anybody = ~0U;

    std::atomic<std::uint32_t> wake_count = 0;        // the futex word
    std::atomic<std::uint32_t> asleep_for = no_rank;  // rank + 1
};

// The CPU on which a rank was when it last had to wait; written only when that changes.
struct alignas(cache_line) LastCpu {
    static constexpr int unknown = -1;

    std::atomic<int> cpu = unknown;
};

// The call of a rank as text; written only when ranks disagree.
struct alignas(cache_line) CallText {
    std::atomic<std::uint64_t> sequence = 0;
    std::array<char, 248> text = {};
};

enum class RankState : std::uint32_t { absent, attached, closed };

// The process that has taken a rank's place, in one word: from then on its end is noticed and it can be named.
// Linux has at most 2^22 pids; the start time is in hundredths of a second.
class Claim {
public:
    Claim() = default;
    explicit Claim(const comm::ProcessIdentity& identity) noexcept
        : word_(static_cast<std::uint64_t>(identity.pid) | (identity.start << pid_bits)) {}

    explicit operator bool() const noexcept { return word_ != 0; }
    // The claimant, in the PID namespace of the creator of the segment.
    comm::ProcessIdentity identity(const comm::ProcessIdentity& creator) const noexcept {
        const std::uint64_t pid = word_ & ((1ULL << pid_bits) - 1);
        return {static_cast<std::int64_t>(pid), word_ >> pid_bits, creator.pid_namespace, creator.boot};
    }

private:
    static constexpr int pid_bits = 22;

    std::uint64_t word_ = 0;
};

struct RankEntry {
    alignas(cache_line) std::atomic<RankState> state = RankState::absent;
    std::atomic<Claim> claim = Claim{};
    comm::ProcessIdentity identity;  // valid once attached
    comm::CpuMask cpus;
    std::int32_t cpu_quota = 0;  // whole CPUs
    bool accepts_barriers = false;
    std::uint64_t probe_address = 0;  // in the rank's own memory: may the others read it?
    SleepState sleep;
    LastCpu last_cpu;
    std::array<Slot, 2> slots;
    Flag filled;  // chunks put into this rank's ring
    Flag folded;  // chunks of its ring in which its own part of an allreduce is the result
    Flag read;    // pieces it has read from the memory of others; says only that it is not stuck
    CallText call;
};

struct FailureNote {
    enum State : std::uint32_t { none, being_written, complete };

    std::atomic<std::uint32_t> state = none;
    alignas(cache_line) std::atomic<std::uint64_t> sequence = UINT64_MAX;  // calls from this one on have failed
    std::array<char, 704> text = {};
    std::array<char, 256> fix = {};
};

// The creator keeps its place in all versions: whether it is dead decides what becomes of a name it left.
struct Header {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    std::uint32_t record_bytes = 0;
    std::uint64_t size = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t nonce = 0;
    Limits limits;
    comm::ProcessIdentity creator;
    alignas(cache_line) std::atomic<std::uint32_t> attached = 0;
    alignas(cache_line) std::atomic<std::uint32_t> sleepers = 0;
    alignas(cache_line) FailureNote failure;
    std::array<char, 1024> note = {};  // from the leader to all, valid between two steps of one call
};

static_assert(offsetof(Header, version) == 8 && offsetof(Header, creator) == 80);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free &&
                  std::atomic<Claim>::is_always_lock_free,
              "a lock inside an atomic would belong to one process only");

// The parts of a mapped segment.
class Layout {
public:
    static constexpr std::uint64_t magic = 0x4D4853'4552424F43ULL;  // "COBRESHM"
    static constexpr std::uint32_t version = 5;

    static std::uint64_t bytes_for(std::uint64_t size, const Limits& limits) noexcept;
    // Writes the header into zero-filled memory of `bytes_for` bytes.
    static void initialise(std::byte* memory, std::uint64_t size, const Limits& limits, std::uint64_t nonce);

    explicit Layout(std::byte* memory) noexcept;

    Header& header() const noexcept { return *header_; }
    std::span<RankEntry> entries() const noexcept { return entries_; }
    RankEntry& entry(int rank) const noexcept { return entries_[static_cast<std::size_t>(rank)]; }
    Flag& consumed(int writer, int reader) const noexcept {
        return consumed_[static_cast<std::size_t>(writer) * entries_.size() + static_cast<std::size_t>(reader)];
    }
    std::byte* ring(int rank) const noexcept { return rings_ + static_cast<std::uint64_t>(rank) * ring_bytes_; }

private:
    Header* header_;
    std::span<RankEntry> entries_;
    Flag* consumed_;
    std::byte* rings_;
    std::uint64_t ring_bytes_;
};

}  // namespace cobre::shm
