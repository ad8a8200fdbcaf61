// The least that each collective can cost on this machine: flags and copies, no checks, no Python, no failures.
//
// A library that `shm_pair.py` loads, so that its samples alternate with ours and MPI's in one job. `shared` is
// zeroed memory that all ranks have mapped: a page of flags per rank, then a ring per rank.
//
//   c++ -O3 -march=native -std=c++20 -shared -fPIC shm_floor.cpp -o libfloor.so
#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct alignas(64) Flag {
    std::atomic<std::uint64_t> value;
};

struct alignas(4096) Flags {
    Flag step[2];  // of this rank; two in turn, so that the next can be written while the last is being read
    Flag filled;
    Flag taken[16];  // by this rank, from each ring
    Flag cpu;        // that this rank was on when it last waited
    std::uint64_t steps;
    std::uint64_t chunks;  // that went through every ring
};

constexpr std::uint64_t ring_bytes = 2 << 20;  // more than the second-level cache: see native/shm/ring.hpp
constexpr std::uint64_t largest_unit = 128 << 10;

class Team {
public:
    Team(void* shared, int rank, int size, bool yields)
        : flags_(static_cast<Flags*>(shared)), rank_(rank), size_(size), yields_(yields) {}

    Flags& mine() const { return flags_[rank_]; }
    Flags& of(int rank) const { return flags_[rank]; }
    std::byte* ring(int rank) const {
        return reinterpret_cast<std::byte*>(flags_ + size_) + static_cast<std::uint64_t>(rank) * ring_bytes;
    }
    void wait(const Flag& flag, std::uint64_t value) const {
        while (flag.value.load(std::memory_order_acquire) < value)
            if (yields_) sched_yield();
            else _mm_pause();
    }
    // Once per core and meeting the ranks on it have to take turns. So first for those on this core, which cannot
    // come while this one stays on it; then, while those elsewhere may just be coming, staying.
    void wait_in_turns(std::uint64_t step) const {
        const auto here = static_cast<std::uint64_t>(sched_getcpu());
        mine().cpu.value.store(here, std::memory_order_relaxed);
        for (int i = 1; i < size_; ++i) {
            const Flags& other = of((rank_ + i) % size_);
            if (other.cpu.value.load(std::memory_order_relaxed) == here) wait(other.step[step % 2], step);
        }
        for (int i = 1; i < size_; ++i) {
            const Flag& flag = of((rank_ + i) % size_).step[step % 2];
            for (int spins = 0; spins < 50 && flag.value.load(std::memory_order_acquire) < step; ++spins)
                _mm_pause();
            wait(flag, step);
        }
    }
    void meet() const {
        const std::uint64_t step = ++mine().steps;
        mine().step[step % 2].value.store(step, std::memory_order_release);
        if (yields_) wait_in_turns(step);
        else
            for (int i = 1; i < size_; ++i) wait(of((rank_ + i) % size_).step[step % 2], step);
        asm volatile("prefetchw %0" : : "m"(mine().step[(step + 1) % 2]));
    }
    int rank() const { return rank_; }
    int size() const { return size_; }

private:
    Flags* flags_;
    int rank_;
    int size_;
    bool yields_;
};

void copy(void* to, const void* from, std::size_t bytes, bool around_cache) {
    const std::size_t head = std::min(bytes, (32 - reinterpret_cast<std::uintptr_t>(to) % 32) % 32);
    std::memcpy(to, from, head);
    auto* target = reinterpret_cast<__m256i*>(static_cast<std::byte*>(to) + head);
    const auto* source = reinterpret_cast<const __m256i*>(static_cast<const std::byte*>(from) + head);
    bytes -= head;
    for (std::size_t i = 0; i < bytes / 128; ++i, target += 4, source += 4)
        for (int j = 0; j < 4; ++j) {
            const __m256i part = _mm256_loadu_si256(source + j);
            if (around_cache) _mm256_stream_si256(target + j, part);
            else _mm256_store_si256(target + j, part);
        }
    if (around_cache) _mm_sfence();
    std::memcpy(target, source, bytes % 128);
}

// `count` is a multiple of four.
void add(double* to, const double* a, const double* b, std::size_t count) {
    for (std::size_t i = 0; i < count; i += 4)
        _mm256_storeu_pd(to + i, _mm256_add_pd(_mm256_loadu_pd(a + i), _mm256_loadu_pd(b + i)));
}

// One payload in pieces, in rings that are walked from call to call.
class Chunks {
public:
    Chunks(const Team& team, std::size_t bytes)
        : team_(team),
          bytes_(bytes),
          unit_(std::min<std::size_t>(bytes, largest_unit)),
          stride_((unit_ + 63) / 64 * 64),
          depth_(ring_bytes / stride_),
          base_(team.mine().chunks) {}

    std::uint64_t count() const { return (bytes_ + unit_ - 1) / unit_; }
    std::size_t unit() const { return unit_; }
    std::size_t length(std::uint64_t index) const { return std::min(unit_, bytes_ - index * unit_); }
    std::byte* at(int rank, std::uint64_t index) const {
        return team_.ring(rank) + (base_ + index) % depth_ * stride_;
    }
    void await_room(int reader, int writer, std::uint64_t index) const {
        if (base_ + index >= depth_) team_.wait(team_.of(reader).taken[writer], base_ + index - depth_ + 1);
    }
    void await_filled(int writer, std::uint64_t index) const {
        team_.wait(team_.of(writer).filled, base_ + index + 1);
    }
    void announce_filled(std::uint64_t index) const {
        team_.mine().filled.value.store(base_ + index + 1, std::memory_order_release);
    }
    void announce_taken(int writer, std::uint64_t index) const {
        team_.mine().taken[writer].value.store(base_ + index + 1, std::memory_order_release);
    }
    // Rings that this call did not use have moved on as well.
    void finish() const {
        team_.mine().chunks = base_ + count();
        for (int writer = 0; writer < team_.size(); ++writer) announce_taken(writer, count() - 1);
        announce_filled(count() - 1);
    }

private:
    const Team& team_;
    std::size_t bytes_;
    std::size_t unit_;
    std::size_t stride_;
    std::uint64_t depth_;
    std::uint64_t base_;
};

}  // namespace

extern "C" {

std::size_t floor_bytes(int size) { return static_cast<std::size_t>(size) * (sizeof(Flags) + ring_bytes); }

// Every rank says that it is here and sees that all others are.
void floor_meet(void* shared, int rank, int size, bool yields, long rounds) {
    const Team team(shared, rank, size, yields);
    for (long i = 0; i < rounds; ++i) team.meet();
}

// One copy from private to private memory.
void floor_copy(void*, int, int, bool, void* to, const void* from, std::size_t bytes, bool around_cache) {
    copy(to, from, bytes, around_cache);
}

// Through the rings, chunk by chunk: every rank's input, and the sum of all into `recv`. `around_cache`, here and
// below, is for what goes into a ring: faster while the reader's core has another cache.
void floor_allreduce(void* shared, int rank, int size, bool yields, const double* send, double* recv,
                     std::size_t bytes, bool around_cache, long rounds) {
    const Team team(shared, rank, size, yields);
    for (long round = 0; round < rounds; ++round) {
        const Chunks chunks(team, bytes);
        const auto stage = [&](std::uint64_t index) {
            for (int i = 1; i < size; ++i) chunks.await_room((rank + i) % size, rank, index);
            copy(chunks.at(rank, index), reinterpret_cast<const std::byte*>(send) + index * chunks.unit(),
                 chunks.length(index), around_cache);
            chunks.announce_filled(index);
        };
        stage(0);
        for (std::uint64_t index = 0; index < chunks.count(); ++index) {
            if (index + 1 < chunks.count()) stage(index + 1);
            double* to = recv + index * chunks.unit() / sizeof(double);
            const double* from = send + index * chunks.unit() / sizeof(double);
            for (int i = 1; i < size; ++i) {
                const int other = (rank + i) % size;
                chunks.await_filled(other, index);
                const auto* theirs = reinterpret_cast<const double*>(chunks.at(other, index));
                add(to, from, theirs, chunks.length(index) / sizeof(double));
                from = to;
                chunks.announce_taken(other, index);
            }
        }
        chunks.finish();
    }
}

// Through its ring, chunk by chunk: rank 0's bytes to everybody.
void floor_broadcast(void* shared, int rank, int size, bool yields, std::byte* buf, std::size_t bytes,
                     bool around_cache, long rounds) {
    const Team team(shared, rank, size, yields);
    for (long round = 0; round < rounds; ++round) {
        const Chunks chunks(team, bytes);
        for (std::uint64_t index = 0; index < chunks.count(); ++index) {
            std::byte* here = buf + index * chunks.unit();
            if (rank == 0) {
                for (int i = 1; i < size; ++i) chunks.await_room(i, 0, index);
                copy(chunks.at(0, index), here, chunks.length(index), around_cache);
                chunks.announce_filled(index);
            } else {
                chunks.await_filled(0, index);
                copy(here, chunks.at(0, index), chunks.length(index), false);
                chunks.announce_taken(0, index);
            }
        }
        chunks.finish();
    }
}
}
