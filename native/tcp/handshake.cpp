#include "tcp/handshake.hpp"

#include <algorithm>
#include <bit>

#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

constexpr std::uint8_t refused_secret = 1;
constexpr std::uint8_t refused_introduction = 2;

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Array>
Array array_from(std::span<const std::byte> bytes) noexcept {
    Array array;
    std::copy_n(bytes.begin(), array.size(), array.begin());
    return array;
}

// A whole frame at the front, if it is there.
struct Framed {
    Header header;
    std::span<const std::byte> payload;
};

std::optional<Framed> frame_at(std::span<const std::byte> bytes, const Header& header) noexcept {
    if (bytes.size() < header_bytes + header.payload_bytes()) return std::nullopt;
    return Framed{header, bytes.subspan(header_bytes, header.payload_bytes())};
}

// The first bytes of another program, for the log.
std::string first_bytes_of(std::span<const std::byte> bytes) {
    std::string shown;
    for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 16))) {
        const char c = std::to_integer<char>(byte);
        shown += c >= 0x20 && c < 0x7f ? c : '.';
    }
    return "'" + shown + "'";
}

}  // namespace

Digest Secret::worker_proof(const Nonce& from_hub, const Nonce& from_worker) const noexcept {
    return Hmac(bytes_of(text_)).add(bytes_of("cobre tcp worker")).add(from_hub).add(from_worker).finish();
}

Digest Secret::hub_proof(const Nonce& from_hub, const Nonce& from_worker) const noexcept {
    return Hmac(bytes_of(text_)).add(bytes_of("cobre tcp rank 0")).add(from_worker).add(from_hub).finish();
}

std::uint8_t Introduction::native_order() noexcept { return std::endian::native == std::endian::little ? 1 : 2; }

std::string Introduction::encode() const {
    std::array<std::byte, wire_bytes> bytes = {};
    std::byte* end = put(put(put(bytes.data(), rank), size), version);
    *end++ = static_cast<std::byte>(byte_order);
    *end++ = std::byte{0};
    put(end, host);
    return std::string(text_of(bytes));
}

Introduction Introduction::decode(std::span<const std::byte, wire_bytes> bytes) noexcept {
    Introduction introduction;
    introduction.rank = get<std::uint32_t>(&bytes[0]);
    introduction.size = get<std::uint32_t>(&bytes[4]);
    introduction.version = get<std::uint16_t>(&bytes[8]);
    introduction.byte_order = std::to_integer<std::uint8_t>(bytes[10]);
    introduction.host = get<std::uint64_t>(&bytes[12]);
    return introduction;
}

std::string HubHandshake::challenge() const { return frame(Tag::challenge, text_of(nonce_)); }

std::string HubHandshake::refuse(std::uint8_t code, std::string reason) {
    state_ = State::refused;
    reason_ = std::move(reason);
    return frame(Tag::refusal, std::string(1, static_cast<char>(code)) + reason_);
}

// Payload bytes of the frame that comes next.
std::size_t HubHandshake::due() const noexcept {
    return state_ == State::proving ? sizeof(Nonce) + sizeof(Digest) : Introduction::wire_bytes;
}

std::span<std::byte> HubHandshake::room() noexcept {
    const std::size_t whole = header_bytes + due(), there = input_.unread().size();
    return input_.room().first(whole > there ? whole - there : 0);
}

std::string HubHandshake::proceed(const Examiner& examine) {
    std::string answer;
    while (state_ == State::proving || state_ == State::introducing) {
        const std::optional<Header> header = header_at(input_.unread());
        if (!header) break;
        const bool is_proof = state_ == State::proving;
        const std::size_t bytes = due();
        if (header->tag == Tag::shutdown && header->length == 1) {
            state_ = State::withdrawn;
            break;
        }
        // Decided by the first five bytes: no other client sends these, so no more is read from one.
        if (header->tag != (is_proof ? Tag::proof : Tag::handshake) || header->length != bytes + 1) {
            state_ = State::refused;
            reason_ = "it does not speak this protocol: it said " + first_bytes_of(input_.unread());
            break;
        }
        const std::optional<Framed> framed = frame_at(input_.unread(), *header);
        if (!framed) break;
        answer += is_proof ? take_proof(framed->payload) : take_introduction(framed->payload, examine);
        input_.consume(header_bytes + bytes);
    }
    return answer;
}

std::string HubHandshake::take_proof(std::span<const std::byte> payload) {
    const auto theirs = array_from<Nonce>(payload);
    const auto proof = array_from<Digest>(payload.subspan(sizeof(Nonce)));
    if (!are_equal(proof, secret_->worker_proof(nonce_, theirs)))
        return refuse(refused_secret, "its secret is not rank 0's");
    state_ = State::introducing;
    return frame(Tag::proof, text_of(secret_->hub_proof(nonce_, theirs)));
}

std::string HubHandshake::take_introduction(std::span<const std::byte> payload, const Examiner& examine) {
    introduction_ = Introduction::decode(payload.first<Introduction::wire_bytes>());
    if (introduction_.version != protocol_version)
        return refuse(refused_introduction, "it speaks version " + std::to_string(introduction_.version) +
                                                " of the protocol, rank 0 version " +
                                                std::to_string(protocol_version));
    if (introduction_.byte_order != Introduction::native_order())
        return refuse(refused_introduction, "its byte order is not rank 0's");
    if (const std::optional<std::string> reason = examine(introduction_))
        return refuse(refused_introduction, *reason);
    state_ = State::accepted;
    return {};
}

std::string WorkerHandshake::end_as_wrong_peer(std::string text) {
    state_ = State::wrong_peer;
    failure_ = {std::move(text), "check COBRE_TCP_COORDINATOR and COBRE_TCP_PORT: another program listens there"};
    return {};
}

std::span<std::byte> WorkerHandshake::room() noexcept {
    const std::span<const std::byte> unread = input_.unread();
    const std::optional<Header> header = header_at(unread);
    const std::size_t due = header && header->length > 0 ? header_bytes + header->payload_bytes() : header_bytes;
    const std::span<std::byte> room = input_.room();
    return room.first(std::min(room.size(), due > unread.size() ? due - unread.size() : 0));
}

std::string WorkerHandshake::proceed() {
    std::string answer;
    while (state_ == State::waiting || state_ == State::proved) {
        const std::optional<Header> header = header_at(input_.unread());
        if (!header) break;
        if (header->length == 0 || header->payload_bytes() > longest_control_payload)
            return end_as_wrong_peer("what listens there is no rank 0: it said " +
                                     first_bytes_of(input_.unread()));
        const std::optional<Framed> framed = frame_at(input_.unread(), *header);
        if (!framed) break;
        answer += take(*header, framed->payload);
        input_.consume(header_bytes + framed->payload.size());
    }
    return answer;
}

std::string WorkerHandshake::take(const Header& header, std::span<const std::byte> payload) {
    if (header.tag == Tag::refusal && payload.size() > 1) {
        state_ = State::refused;
        const bool by_secret = std::to_integer<std::uint8_t>(payload[0]) == refused_secret;
        failure_ = {printable(text_of(payload.subspan(1))),
                    by_secret
                        ? secret_fix
                        : "start every rank once, with the same size and version, and a rank below the size"};
        return {};
    }
    if (header.tag == Tag::failure && state_ == State::proved) {
        state_ = State::refused;
        failure_ = failure_from(payload);
        return {};
    }
    if (header.tag == Tag::challenge && !has_challenge_ && payload.size() == sizeof(Nonce)) {
        has_challenge_ = true;
        challenge_ = array_from<Nonce>(payload);
        const Digest proof = secret_->worker_proof(challenge_, nonce_);
        return frame(Tag::proof, std::string(text_of(nonce_)).append(text_of(proof)));
    }
    if (header.tag == Tag::proof && has_challenge_ && state_ == State::waiting &&
        payload.size() == sizeof(Digest)) {
        if (!are_equal(array_from<Digest>(payload), secret_->hub_proof(challenge_, nonce_)))
            return end_as_wrong_peer("what listens there does not have the secret");
        state_ = State::proved;
        is_with_rank_0_ = true;
        return frame(Tag::handshake, introduction_.encode());
    }
    if (header.tag == Tag::ack && state_ == State::proved && payload.size() == 8) {
        neighbours_ = get<std::uint32_t>(&payload[4]);
        state_ = State::joined;
        return {};
    }
    return end_as_wrong_peer("what listens there is no rank 0: it sent a frame with tag " +
                             std::to_string(static_cast<int>(header.tag)));
}

std::string goodbye_frame() { return frame(Tag::shutdown); }

std::string ack_frame(std::uint32_t size, std::uint32_t local_ranks) {
    std::array<std::byte, 8> bytes;
    put(put(bytes.data(), size), local_ranks);
    return frame(Tag::ack, text_of(bytes));
}

}  // namespace cobre::tcp
