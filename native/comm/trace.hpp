// A timeline of the collectives of this process, for COBRE_COMM_TRACE=FILE: FILE.rank<r>, which cobre.comm.trace
// reads.
//
// A backend owns one `Track` per communicator and puts one `TraceScope` into each collective. Without the variable
// that costs a load and a branch that is always predicted.
#pragma once

#include <cstdint>

#include "comm/arguments.hpp"
#include "comm/statistics.hpp"

namespace cobre::comm {

class TraceFile;

// On the file as it is here; cobre.comm.trace reads the same layout. Small, because what it costs is memory
// traffic.
struct TraceEntry {
    std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC: one clock for all processes of a machine
    std::uint64_t bytes = 0;
    float duration_s = 0.0F;
    float wait_s = 0.0F;
    std::uint32_t sequence = 0;     // of this communicator: the same on every rank for the same collective
    std::uint16_t size = 0;         // of the communicator; 65535 stands for more, too
    std::uint8_t communicator = 0;  // of this process, in the order in which they were made, modulo 256
    std::uint8_t operation = 0;     // `failed` is added to it
    static constexpr std::uint8_t failed = 128;
};
static_assert(sizeof(TraceEntry) == 32);

std::uint64_t monotonic_ns() noexcept;

// The collectives of one communicator. Callers serialise those of one; several communicators may record at once.
class Track {
public:
    // Asks COBRE_COMM_TRACE. The first communicator of the process that is not alone gives the file its rank.
    Track(Group group, const char* backend) noexcept;

    bool is_on() const noexcept { return file_ != nullptr; }
    // `record` needs no sequence, communicator and size. Never fails: a full disk ends the trace, not the program.
    void add(TraceEntry record) noexcept;

private:
    TraceFile* file_ = nullptr;
    std::uint32_t sequence_ = 0;
    std::uint16_t size_;
    std::uint8_t communicator_ = 0;
};

// Records the collective in whose scope it is declared, however that ends. It must outlive whatever enters the
// call into the statistics, from which it takes bytes and waiting time.
class TraceScope {
public:
    TraceScope(Track& track, const OperationStatistics& entry, Operation operation) noexcept
        : track_(track.is_on() ? &track : nullptr), entry_(entry) {
        if (track_ != nullptr) [[unlikely]]
            begin(operation);
    }
    ~TraceScope() {
        if (track_ != nullptr) [[unlikely]]
            end();
    }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;

private:
    void begin(Operation operation) noexcept;
    void end() noexcept;

    Track* track_;
    const OperationStatistics& entry_;
    OperationStatistics before_;
    TraceEntry record_;
    int exceptions_ = 0;
};

}  // namespace cobre::comm
