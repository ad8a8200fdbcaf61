// Frames: u32 big-endian length of tag and payload, u8 tag, payload. docs/guides/tcp-wire-protocol.md has the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm/failure.hpp"

namespace cobre::tcp {

constexpr std::uint16_t protocol_version = 2;

enum class Tag : std::uint8_t {
    allgatherv_send = 0x01,
    allgatherv_recv = 0x02,
    allreduce_send = 0x03,
    allreduce_recv = 0x04,
    broadcast = 0x05,
    barrier_ready = 0x06,
    barrier_go = 0x07,
    handshake = 0x08,
    ack = 0x09,
    shutdown = 0x0A,
    challenge = 0x0B,
    proof = 0x0C,
    refusal = 0x0D,
    call = 0x0E,
    continuation = 0x0F,
    failure = 0x10,
    overdue = 0x11,
    proceed = 0x12,
};

constexpr std::size_t header_bytes = 5;
// Everything but the payload of a collective fits; a connection that announces more is not one of our ranks.
constexpr std::size_t longest_control_payload = 4096;
// So much payload a worker may send before rank 0 has come to the same step: it fits every receive buffer.
constexpr std::size_t always_fits = 64 * 1024;

struct Header {
    std::uint32_t length = 0;  // of tag and payload, as sent
    Tag tag = Tag::shutdown;

    std::size_t payload_bytes() const noexcept { return length - 1; }
};

// Big-endian numbers at the front of a buffer that is long enough.
template <class Number>
std::byte* put(std::byte* target, Number value) noexcept {
    for (std::size_t i = sizeof(Number); i-- > 0;) *target++ = static_cast<std::byte>(value >> (8 * i));
    return target;
}

template <class Number>
Number get(const std::byte* source) noexcept {
    Number value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
        value = static_cast<Number>(value << 8 | std::to_integer<Number>(source[i]));
    return value;
}

inline std::byte* put_header(std::byte* target, Tag tag, std::size_t payload_bytes) noexcept {
    target = put(target, static_cast<std::uint32_t>(payload_bytes + 1));
    *target++ = static_cast<std::byte>(tag);
    return target;
}

// Nothing while fewer than five bytes are there. A length of 0 is impossible and comes back as it is.
inline std::optional<Header> header_at(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < header_bytes) return std::nullopt;
    return Header{get<std::uint32_t>(bytes.data()), static_cast<Tag>(bytes[4])};
}

// A whole small frame.
std::string frame(Tag tag, std::string_view payload = {});

// On the wire a failure is two texts with a zero byte between.
std::string failure_frame(const comm::Failure& failure);
comm::Failure failure_from(std::span<const std::byte> payload);

}  // namespace cobre::tcp
