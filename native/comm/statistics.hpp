// What `Communicator.stats()` reports, per operation.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cobre::comm {

enum class Operation : std::uint8_t { allgatherv, allreduce, broadcast, barrier };

constexpr std::array<const char*, 4> operation_names = {"allgatherv", "allreduce", "broadcast", "barrier"};

struct OperationStatistics {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // of the result that this rank holds afterwards
    double wait_s = 0.0;      // waiting for other ranks
    double move_s = 0.0;      // copying and folding
};

// Not synchronised: whoever serialises the calls serialises this, too.
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
