// What `Communicator.stats()` reports, per operation.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cobre::comm {

enum class Operation : std::uint8_t { allgatherv, allreduce, broadcast, barrier };

constexpr std::array<const char*, 4> operation_names = {"allgatherv", "allreduce", "broadcast", "barrier"};

// A sum that one thread at a time adds to, at the price of a plain one, and that any may read meanwhile.
template <class Number>
class Tally {
public:
    Tally() = default;
    Tally(const Tally& other) noexcept : sum_(other.get()) {}
    Tally& operator=(const Tally& other) noexcept {
        sum_.store(other.get(), std::memory_order_relaxed);
        return *this;
    }
    ~Tally() = default;

    Number get() const noexcept { return sum_.load(std::memory_order_relaxed); }
    Tally& operator+=(Number more) noexcept {
        sum_.store(get() + more, std::memory_order_relaxed);
        return *this;
    }

private:
    std::atomic<Number> sum_ = 0;
};

struct OperationStatistics {
    Tally<std::uint64_t> calls;
    Tally<std::uint64_t> bytes;  // of the result that this rank holds afterwards
    Tally<double> wait_s;        // waiting for other ranks
    Tally<double> move_s;        // copying and folding
};

// The backend serialises calls and so additions; a reader during a call sees some of its sums.
class Statistics {
public:
    OperationStatistics& operator[](Operation operation) noexcept {
        return entries_[static_cast<std::size_t>(operation)];
    }
    const std::array<OperationStatistics, 4>& entries() const noexcept { return entries_; }

private:
    std::array<OperationStatistics, 4> entries_;
};

// Reading the clock twice costs more than moving less than this, so shorter moves are not timed.
constexpr std::size_t timed_move_bytes = 16 * 1024;

class Stopwatch {
public:
    double seconds() const noexcept {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace cobre::comm
