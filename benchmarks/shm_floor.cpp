// The least that each collective can cost on this machine: flags and copies, no checks, no Python, no failures.
//
// A library that `shm_pair.py` loads, so that its samples alternate with ours and MPI's in one job. `shared` is zeroed
// memory that all ranks have mapped: a page of flags per rank, then a ring of chunks per rank.
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
    std::uint64_t steps;
    std::uint64_t chunks;
};

constexpr std::uint64_t ring = 4;
constexpr std::uint64_t largest_unit = 256 << 10;

class Team {
public:
    Team(void* shared, int rank, int size, bool yields)
        : flags_(static_cast<Flags*>(shared)), rank_(rank), size_(size), yields_(yields) {}

    Flags& mine() const { return flags_[rank_]; }
    Flags& of(int rank) const { return flags_[rank]; }
    std::byte* chunk(int rank, std::uint64_t position) const {
        return reinterpret_cast<std::byte*>(flags_ + size_) +
               (static_cast<std::uint64_t>(rank) * ring + position % ring) * largest_unit;
    }
    void wait(const Flag& flag, std::uint64_t value) const {
        while (flag.value.load(std::memory_order_acquire) < value)
            if (yields_) sched_yield();
            else _mm_pause();
    }
    void meet() const {
        const std::uint64_t step = ++mine().steps;
        mine().step[step % 2].value.store(step, std::memory_order_release);
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
    auto* target = static_cast<__m256i*>(to);
    const auto* source = static_cast<const __m256i*>(from);
    const std::size_t blocks = bytes / 128;
    if (around_cache && reinterpret_cast<std::uintptr_t>(to) % 32 == 0) {
        for (std::size_t i = 0; i < blocks; ++i, target += 4, source += 4)
            for (int j = 0; j < 4; ++j) _mm256_stream_si256(target + j, _mm256_loadu_si256(source + j));
        _mm_sfence();
    } else {
        for (std::size_t i = 0; i < blocks; ++i, target += 4, source += 4)
            for (int j = 0; j < 4; ++j) _mm256_storeu_si256(target + j, _mm256_loadu_si256(source + j));
    }
    std::memcpy(target, source, bytes % 128);
}

}  // namespace

extern "C" {

std::size_t floor_bytes(int size) {
    return static_cast<std::size_t>(size) * (sizeof(Flags) + ring * largest_unit);
}

// Every rank says that it is here and sees that all others are.
void floor_meet(void* shared, int rank, int size, bool yields, long rounds) {
    const Team team(shared, rank, size, yields);
    for (long i = 0; i < rounds; ++i) team.meet();
}

// A copy from private to private memory, as fast as this core does it; all ranks begin together.
void floor_copy(void* shared, int rank, int size, bool yields, void* to, const void* from, std::size_t bytes,
                bool around_cache, long rounds) {
    const Team team(shared, rank, size, yields);
    team.meet();
    for (long i = 0; i < rounds; ++i) copy(to, from, bytes, around_cache);
}

// Through the ring, chunk by chunk: every rank's input, and the sum of all into `recv`.
void floor_allreduce(void* shared, int rank, int size, bool yields, const double* send, double* recv,
                     std::size_t bytes, std::size_t unit, long rounds) {
    const Team team(shared, rank, size, yields);
    Flags& mine = team.mine();
    for (long round = 0; round < rounds; ++round) {
        const std::uint64_t base = mine.chunks;
        const std::uint64_t chunks = (bytes + unit - 1) / unit;
        for (std::uint64_t index = 0; index < chunks; ++index) {
            const std::uint64_t position = base + index;
            const std::size_t length = std::min(unit, bytes - index * unit);
            if (position >= ring)
                for (int i = 1; i < size; ++i)
                    team.wait(team.of((rank + i) % size).taken[rank], position - ring + 1);
            copy(team.chunk(rank, position), reinterpret_cast<const std::byte*>(send) + index * unit, length, false);
            mine.filled.value.store(position + 1, std::memory_order_release);
            for (int i = 1; i < size; ++i) {
                const int other = (rank + i) % size;
                team.wait(team.of(other).filled, position + 1);
                const auto* theirs = reinterpret_cast<const double*>(team.chunk(other, position));
                const double* ours = (i == 1 ? send : recv) + index * unit / sizeof(double);
                double* to = recv + index * unit / sizeof(double);
                for (std::size_t k = 0; k < length / sizeof(double); ++k) to[k] = ours[k] + theirs[k];
                mine.taken[other].value.store(position + 1, std::memory_order_release);
            }
        }
        mine.chunks += chunks;
    }
}

// Through the ring, chunk by chunk: the root's bytes to everybody.
void floor_broadcast(void* shared, int rank, int size, bool yields, void* buf, std::size_t bytes, std::size_t unit,
                     bool around_cache, long rounds) {
    const Team team(shared, rank, size, yields);
    Flags& mine = team.mine();
    for (long round = 0; round < rounds; ++round) {
        const std::uint64_t base = mine.chunks;
        const std::uint64_t chunks = (bytes + unit - 1) / unit;
        for (std::uint64_t index = 0; index < chunks; ++index) {
            const std::uint64_t position = base + index;
            const std::size_t length = std::min(unit, bytes - index * unit);
            std::byte* here = static_cast<std::byte*>(buf) + index * unit;
            if (rank == 0) {
                if (position >= ring)
                    for (int i = 1; i < size; ++i) team.wait(team.of(i).taken[0], position - ring + 1);
                copy(team.chunk(0, position), here, length, false);
                mine.filled.value.store(position + 1, std::memory_order_release);
            } else {
                team.wait(team.of(0).filled, position + 1);
                copy(here, team.chunk(0, position), length, around_cache);
                mine.taken[0].value.store(position + 1, std::memory_order_release);
            }
        }
        mine.chunks += chunks;
    }
}
}
