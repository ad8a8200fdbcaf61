// A call as ranks send it to each other: a number, and what is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/call.hpp"

namespace cobre::tcp {

struct WireCall : comm::Call {
    static constexpr std::size_t wire_bytes = 48;

    WireCall() = default;
    WireCall(const comm::Call& call) noexcept : comm::Call(call) {
        list = {};
    }  // NOLINT: a call without its number

    // Nothing if the bytes are no call.
    static std::optional<WireCall> decode(std::span<const std::byte> bytes) noexcept;
    void encode(std::byte* target) const noexcept;
    // Whether two ranks mean the same step. In allgatherv each has a part of its own: only the list counts.
    bool agrees_with(const WireCall& other) const noexcept;
    // Bytes of the whole of what is called, or of the sender's own part in allgatherv.
    std::uint64_t bytes() const noexcept { return count * dtype.itemsize; }
    // Bytes that `rank`, not rank 0, sends in this step.
    std::uint64_t contribution_bytes(int rank) const noexcept;

    std::uint32_t sequence = 0;
};

// Of two numbers of steps, which are counted modulo 2³².
constexpr bool is_before(std::uint32_t sequence, std::uint32_t other) noexcept {
    return static_cast<std::int32_t>(sequence - other) < 0;
}

}  // namespace cobre::tcp
