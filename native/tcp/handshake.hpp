// Rank 0 and a worker prove that they have the secret, then exchange ranks. No socket here: bytes in, bytes out.
//
//   rank 0                                          worker
//     Challenge(nonce0)                     ->
//                                           <-  Proof(nonce1, HMAC("worker", nonce0, nonce1))
//     Proof(HMAC("rank 0", nonce1, nonce0)) ->
//                                           <-  Handshake(rank, size, …), in one of its connections only
//     Ack(size, local_ranks), once all are there, or Refusal(code, text) at any point
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "tcp/digest.hpp"
#include "tcp/wire.hpp"

namespace cobre::tcp {

// The shared secret; an empty one proves nothing and is for loopback only.
class Secret {
public:
    explicit Secret(std::string text) : text_(std::move(text)) {}
    Digest worker_proof(const Nonce& from_hub, const Nonce& from_worker) const noexcept;
    Digest hub_proof(const Nonce& from_hub, const Nonce& from_worker) const noexcept;

private:
    std::string text_;
};

struct Introduction {
    static constexpr std::size_t wire_bytes = 20;

    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    std::uint16_t version = protocol_version;
    std::uint8_t byte_order = native_order();
    std::uint64_t host = 0;

    static std::uint8_t native_order() noexcept;
    std::string encode() const;
    static Introduction decode(std::span<const std::byte, wire_bytes> bytes) noexcept;
};

// Bytes of the other side, as many as it may send before it is known and not one more.
template <std::size_t capacity>
class BoundedInput {
public:
    std::span<std::byte> room() noexcept { return std::span(bytes_).subspan(used_); }
    void received(std::size_t bytes) noexcept { used_ += bytes; }
    std::span<const std::byte> unread() const noexcept { return std::span(bytes_).first(used_); }
    void consume(std::size_t bytes) noexcept {
        used_ -= bytes;
        std::memmove(bytes_.data(), bytes_.data() + bytes, used_);
    }

private:
    std::array<std::byte, capacity> bytes_;
    std::size_t used_ = 0;
};

// Rank 0's side of one connection.
class HubHandshake {
public:
    // `withdrawn`: the other side needs this connection no more, since it has found rank 0 at another address.
    enum class State : std::uint8_t { proving, introducing, accepted, refused, withdrawn };
    // Why an introduction is not acceptable; nothing if it is.
    using Examiner = std::function<std::optional<std::string>(const Introduction&)>;

    // Throws std::system_error if there are no random numbers to be had.
    explicit HubHandshake(const Secret& secret) : secret_(&secret), nonce_(fresh_nonce()) {}

    std::string challenge() const;
    // Where to receive: never more than the frame that is due, for behind the last one work begins.
    std::span<std::byte> room() noexcept;
    void received(std::size_t bytes) noexcept { input_.received(bytes); }
    // Makes sense of what has arrived; returns bytes to send, refusals included.
    std::string proceed(const Examiner& examine);

    State state() const noexcept { return state_; }
    const Introduction& introduction() const noexcept { return introduction_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    std::size_t due() const noexcept;
    std::string refuse(std::uint8_t code, std::string reason);
    std::string take_proof(std::span<const std::byte> payload);
    std::string take_introduction(std::span<const std::byte> payload, const Examiner& examine);

    const Secret* secret_;
    Nonce nonce_;
    BoundedInput<header_bytes + sizeof(Nonce) + sizeof(Digest)> input_;
    State state_ = State::proving;
    Introduction introduction_;
    std::string reason_;
};

// A worker's side.
class WorkerHandshake {
public:
    enum class State : std::uint8_t { waiting, proved, joined, refused, wrong_peer };

    WorkerHandshake(const Secret& secret, Introduction introduction)
        : secret_(&secret), introduction_(introduction), nonce_(fresh_nonce()) {}

    // Where to receive: never more than the frame that is due, for behind the last one work begins.
    std::span<std::byte> room() noexcept;
    void received(std::size_t bytes) noexcept { input_.received(bytes); }
    // Makes sense of what has arrived; returns bytes to send.
    std::string proceed();

    State state() const noexcept { return state_; }
    // Whether the other side has proved that it is our rank 0, whatever it said afterwards.
    bool is_with_rank_0() const noexcept { return is_with_rank_0_; }
    // Refused: rank 0's words. Wrong peer: why it cannot be our rank 0.
    const comm::Failure& failure() const noexcept { return failure_; }
    // How many ranks run on this machine, this one included.
    std::uint32_t local_ranks() const noexcept { return neighbours_; }

private:
    std::string end_as_wrong_peer(std::string text);
    std::string take(const Header& header, std::span<const std::byte> payload);

    const Secret* secret_;
    Introduction introduction_;
    Nonce nonce_;
    Nonce challenge_ = {};
    bool has_challenge_ = false;
    BoundedInput<header_bytes + longest_control_payload> input_;
    State state_ = State::waiting;
    bool is_with_rank_0_ = false;
    comm::Failure failure_;
    std::uint32_t neighbours_ = 1;
};

// What every rank that was refused for its secret is told.
constexpr const char* secret_fix = "give every rank the same COBRE_TCP_SECRET (or TcpConfig(secret=…))";

// Shutdown: the sender leaves of its own accord.
std::string goodbye_frame();
std::string ack_frame(std::uint32_t size, std::uint32_t local_ranks);

}  // namespace cobre::tcp
