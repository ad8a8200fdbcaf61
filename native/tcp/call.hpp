// What a rank calls: compared before a byte of payload is placed, and told to everybody when ranks disagree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/arguments.hpp"

namespace cobre::tcp {

enum class Verb : std::uint8_t { barrier = 1, allgatherv, allreduce, broadcast, create_region, split_local };

const char* name_of(Verb verb) noexcept;

struct Call {
    static constexpr std::size_t wire_bytes = 48;

    static Call of(Verb verb) noexcept;  // barrier, split_local
    static Call allgatherv(const comm::Buffer& send, std::span<const std::int64_t> counts) noexcept;
    static Call allreduce(const comm::Buffer& send, comm::ReduceOp op) noexcept;
    static Call broadcast(const comm::Buffer& buf, int root) noexcept;
    static Call create_region(std::uint64_t count, const comm::DType& dtype) noexcept;
    // Nothing if the bytes spell no call.
    static std::optional<Call> decode(std::span<const std::byte> bytes) noexcept;

    void encode(std::byte* target) const noexcept;
    // Whether two ranks mean the same step. In allgatherv each has a part of its own: only the list counts.
    bool agrees_with(const Call& other) const noexcept;
    // Bytes that `rank`, not rank 0, sends in this step.
    std::uint64_t contribution_bytes(int rank) const noexcept;
    // "allreduce(sum, 4 x float64)"
    std::string describe() const;
    // The same for many ranks that agree: nobody\'s own part of an allgatherv.
    std::string describe_common() const;

    std::uint32_t sequence = 0;
    Verb verb = Verb::barrier;
    comm::ReduceOp op = comm::ReduceOp::sum;
    comm::DType dtype;
    std::uint32_t root = 0;
    std::uint64_t count = 0;   // elements: this rank's part, or the whole where all have the same
    std::uint64_t total = 0;   // allgatherv: elements of all parts together
    std::uint64_t counts = 0;  // allgatherv: hash of the list of counts
};

}  // namespace cobre::tcp
