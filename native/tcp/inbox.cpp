#include "tcp/inbox.hpp"

#include <algorithm>
#include <cstring>

namespace cobre::tcp {

void Inbox::expect(std::uint32_t sequence, Tag tag) {
    flow_.clear();
    sequence_ = sequence;
    tag_ = tag;
    phase_ = Phase::call;
    is_first_frame_ = true;
    is_ahead_ = is_met_ = is_confirmed_later_ = false;
}

void Inbox::confirm_later(const WireCall& call) {
    phase_ = Phase::done;
    is_confirmed_later_ = true;
    unconfirmed_.add(call);
}

const WireCall* Inbox::counterpart(const WireCall& mine) const noexcept {
    if (odd_call_ && mine.sequence == unconfirmed_.oldest().sequence) return &*odd_call_;
    if (unconfirmed_.may_include(mine.sequence)) return nullptr;
    if (phase_ == Phase::call) return is_before(mine.sequence, sequence_) ? &mine : nullptr;
    return mine.sequence == sequence_ ? &call_ : &mine;
}

std::size_t Inbox::targets(std::span<iovec, 2> vectors, std::size_t piece) noexcept {
    direct_ = 0;
    if (is_ahead_) return 0;
    const bool in_payload = phase_ == Phase::payload && frame_left_ > 0;
    if (in_payload && begin_ == end_) {
        const std::span<std::byte> room = flow_.room();
        if (room.empty()) return 0;
        direct_ = std::min({room.size(), frame_left_, piece});
        vectors[0] = {room.data(), direct_};
        if (direct_ < frame_left_) return 1;
        // While payload follows, take no more than its header: the rest of it belongs straight into its place.
        begin_ = end_ = 0;
        const bool is_last = flow_.remaining() == frame_left_;
        vectors[1] = {buffer_.data(), is_last ? buffer_.size() : header_bytes};
        return 2;
    }
    if (in_payload) return 0;  // the ring is full, or the buffered bytes would have been placed
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size()) return 0;
    vectors[0] = {buffer_.data() + end_, buffer_.size() - end_};
    return 1;
}

void Inbox::received(std::size_t bytes) noexcept {
    const std::size_t placed = std::min(bytes, direct_);
    if (placed > 0) {
        flow_.advance(placed);
        frame_left_ -= placed;
    }
    end_ += bytes - placed;
    direct_ = 0;
}

News Inbox::interpret() {
    for (;;) {
        if (place_buffered()) return News::done;
        if (frame_left_ > 0 || is_ahead_) return News::none;
        const std::size_t unread_before = unread().size();
        const News news = take_frame();
        if (news != News::none) return news;
        if (unread().size() == unread_before) return News::none;
    }
}

News Inbox::take_frame() {
    const std::optional<Header> header = header_at(unread());
    if (!header) return News::none;
    if (header->length == 0) return garbage("a frame of length 0");
    const bool is_payload = phase_ == Phase::payload && (header->tag == tag_ || header->tag == Tag::continuation);
    if (is_payload) return take_payload_header(*header);
    const bool is_confirmation = header->tag == Tag::call || header->tag == Tag::broadcast;
    if (is_confirmation && !unconfirmed_.is_empty()) return take_confirmation(*header);
    if (header->payload_bytes() > longest_control_payload)
        return garbage("a frame with tag " + std::to_string(static_cast<int>(header->tag)) + " and " +
                       std::to_string(header->length) + " bytes");
    if (header->tag == Tag::call && phase_ == Phase::done) {
        is_ahead_ = true;  // it has got all it needs and goes on; we come to that later
        return News::none;
    }
    if (unread().size() < header_bytes + header->payload_bytes()) return News::none;
    const std::span<const std::byte> payload = unread().subspan(header_bytes, header->payload_bytes());
    News news = News::none;
    switch (header->tag) {
        case Tag::failure:
            failure_ = failure_from(payload);
            news = News::failure;
            break;
        case Tag::shutdown: news = News::shutdown; break;
        case Tag::overdue:
            // In front of a call it is about the step before, which was answered meanwhile.
            if (phase_ != Phase::call && unconfirmed_.is_empty()) news = News::overdue;
            break;
        case Tag::proceed:
            if (!unconfirmed_.is_empty() && payload.empty()) break;  // to a root that has gone on
            if (phase_ != Phase::call || !payload.empty()) return garbage("a Proceed that is not due");
            is_met_ = true;
            break;
        case Tag::call:
            if (const std::optional<WireCall> call = WireCall::decode(payload); call && phase_ == Phase::call) {
                call_ = *call;
                phase_ = Phase::payload;
                is_met_ = true;
                news = News::call;
                break;
            }
            [[fallthrough]];
        default: return garbage("a frame with tag " + std::to_string(static_cast<int>(header->tag)));
    }
    consume(header_bytes + payload.size());
    return news;
}

News Inbox::take_payload_header(const Header& header) {
    if (is_first_frame_ != (header.tag == tag_)) return garbage("payload frames in the wrong order");
    std::size_t bytes = header.payload_bytes();
    // The first byte of an AllreduceSend repeats the operation.
    const std::size_t prefix = header.tag == Tag::allreduce_send ? 1 : 0;
    if (unread().size() < header_bytes + prefix) return News::none;
    if (bytes < prefix) return garbage("an AllreduceSend without its operation");
    if (prefix == 1 && unread()[header_bytes] != static_cast<std::byte>(call_.op))
        return garbage("an AllreduceSend of another operation");
    bytes -= prefix;
    if (bytes > flow_.remaining() || (bytes == 0 && !is_first_frame_))
        return garbage(std::to_string(bytes) + " bytes of payload where " + std::to_string(flow_.remaining()) +
                       " were due");
    consume(header_bytes + prefix);
    is_first_frame_ = false;
    frame_left_ = bytes;
    return News::none;
}

// Of the oldest step that this rank gave a broadcast in without hearing the other side.
News Inbox::take_confirmation(const Header& header) {
    const bool is_call = header.tag == Tag::call;
    if (is_call == is_half_confirmed_ || header.payload_bytes() != (is_call ? WireCall::wire_bytes : 0))
        return garbage("a frame with tag " + std::to_string(static_cast<int>(header.tag)) + " and " +
                       std::to_string(header.length) + " bytes");
    if (odd_call_ || unread().size() < header_bytes + header.payload_bytes()) return News::none;
    if (is_call) {
        const std::optional<WireCall> call =
            WireCall::decode(unread().subspan(header_bytes, WireCall::wire_bytes));
        if (!call) return garbage("a call that does not exist");
        if (!call->agrees_with(unconfirmed_.oldest())) {
            odd_call_ = call;
            return News::odd_call;
        }
        call_ = *call;
    } else {
        unconfirmed_.drop_oldest();
    }
    is_half_confirmed_ = is_call;
    consume(header_bytes + header.payload_bytes());
    return News::none;
}

News Inbox::garbage(std::string text) {
    failure_.text = "sent " + std::move(text);
    return News::garbage;
}

void Inbox::consume(std::size_t bytes) noexcept {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
}

// Whether this step's last byte is in its place, and was not before.
bool Inbox::place_buffered() noexcept {
    while (frame_left_ > 0 && begin_ < end_) {
        const std::span<std::byte> room = flow_.room();
        const std::size_t bytes = std::min({room.size(), frame_left_, end_ - begin_});
        if (bytes == 0) return false;
        std::memcpy(room.data(), buffer_.data() + begin_, bytes);
        flow_.advance(bytes);
        frame_left_ -= bytes;
        consume(bytes);
    }
    if (phase_ != Phase::payload || is_first_frame_ || frame_left_ > 0 || flow_.remaining() > 0) return false;
    phase_ = Phase::done;
    return true;
}

}  // namespace cobre::tcp
