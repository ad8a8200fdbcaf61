#include "tcp/link.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tcp/socket.hpp"

namespace cobre::tcp {

namespace {

constexpr std::size_t most_vectors = 16;

// A message that fits into a few cache lines is cheaper to copy together than to describe to the kernel in pieces.
constexpr std::size_t most_joined = 1024;

ssize_t send_vectors(int fd, std::span<iovec> vectors) noexcept {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    std::size_t bytes = 0;
    for (const iovec& vector : vectors) bytes += vector.iov_len;
    if (bytes <= most_joined) {
        std::array<std::byte, most_joined> joined;
        std::byte* end = joined.data();
        for (const iovec& vector : vectors)
            end = std::copy_n(static_cast<const std::byte*>(vector.iov_base), vector.iov_len, end);
        return ::send(fd, joined.data(), bytes, flags);
    }
    msghdr message = {};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    return ::sendmsg(fd, &message, flags);
}

// The send window: how many bytes the other machine takes now, read or not. 0 if this kernel does not report it.
std::size_t send_window(int fd) noexcept {
    // tcpi_snd_wnd of Linux 5.4 and later, by its offset in the kernel's stable ABI: tcp_info of <netinet/tcp.h>
    // ends before it, and <linux/tcp.h> cannot be included beside that and is older where wheels are built.
    constexpr std::size_t offset = 228;
    std::uint32_t window = 0;
    std::array<std::byte, offset + sizeof window> info;
    socklen_t length = info.size();
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0 || length < info.size()) return 0;
    std::memcpy(&window, info.data() + offset, sizeof window);
    return window;
}

ssize_t receive_vectors(int fd, std::span<iovec> vectors) noexcept {
    if (vectors.size() == 1) return ::recv(fd, vectors[0].iov_base, vectors[0].iov_len, MSG_DONTWAIT);
    msghdr message = {};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    return ::recvmsg(fd, &message, MSG_DONTWAIT);
}

}  // namespace

void Link::begin(const WireCall& call, Tag out, Tag in) {
    inbox_.expect(call.sequence, in);
    outflow_.clear();
    tag_ = out;
    op_ = static_cast<std::uint8_t>(call.op);
    sequence_ = call.sequence;
    is_first_frame_ = true;
    is_over_ = is_lost_;
    is_invited_ = false;
    most_ahead_ = always_fits;
    head_begin_ = 0;
    std::byte* place = head_.data() + answers_ * answer_bytes;
    call.encode(put_header(place, Tag::call, WireCall::wire_bytes));
    head_end_ = static_cast<std::size_t>(place - head_.data()) + header_bytes + WireCall::wire_bytes;
}

void Link::answer_later(const WireCall& call) noexcept {
    if (is_lost_ || answers_ + 1 == most_answers || answered_bytes_ + call.bytes() > Unconfirmed::most_bytes / 2)
        return;
    start_frame(0);
    ++answers_;
    answered_bytes_ += call.bytes();
}

bool Link::send_answers() noexcept { return std::exchange(answers_, 0) > 0; }

// Bytes of payload in the frame that comes next. None of some: not yet.
std::size_t Link::next_frame(std::size_t piece) const noexcept {
    const std::size_t bytes = std::min(outflow_.remaining(), piece);
    if (!is_held_back_ || inbox_.is_met()) return bytes;
    // Broadcasts that may lie unread there take of the same room.
    const std::size_t unread = inbox_.is_confirmed_later() ? 0 : inbox_.unconfirmed().bytes();
    return std::min(bytes, most_ahead_ - std::min(most_ahead_, outflow_.sent() + unread));
}

void Link::start_frame(std::size_t piece) noexcept {
    // What goes before and behind the payload must fit, too.
    if (is_held_back_ && is_first_frame_ && outflow_.remaining() > always_fits)
        most_ahead_ =
            std::max(send_window(socket_.get()), always_fits + longest_control_payload) - longest_control_payload;
    const std::size_t bytes = next_frame(piece);
    if (!is_first_frame_) head_begin_ = head_end_ = 0;  // else the call is there and the header goes behind it
    const std::size_t prefix = is_first_frame_ && tag_ == Tag::allreduce_send ? 1 : 0;
    std::byte* end =
        put_header(head_.data() + head_end_, is_first_frame_ ? tag_ : Tag::continuation, bytes + prefix);
    if (prefix == 1) *end++ = static_cast<std::byte>(op_);
    head_end_ = static_cast<std::size_t>(end - head_.data());
    frame_left_ = bytes;
    is_first_frame_ = false;
    is_over_ = bytes == outflow_.remaining();
}

bool Link::wants_to_send(std::size_t piece) const noexcept {
    if (is_lost_) return false;
    if (!posted_.empty() || frame_left_ > 0) return true;
    if (is_over_) return head_begin_ < head_end_ && answers_ == 0;
    // Waits for a whole piece, so that payload which trickles in is not passed on in crumbs.
    const std::size_t wanted = next_frame(piece);
    if (wanted == 0 && outflow_.remaining() > 0) return false;
    return outflow_.ready(wanted) == wanted;
}

bool Link::has_left_machine() const noexcept {
    int unsent = 0;
    return ::ioctl(socket_.get(), SIOCOUTQNSD, &unsent) != 0 || unsent == 0;
}

bool Link::wants_to_receive() noexcept {
    if (is_lost_) return false;
    std::array<iovec, 2> vectors;
    return inbox_.targets(vectors, 1) > 0;
}

Link::Outcome Link::send(std::size_t piece) {
    if (is_lost_ || !wants_to_send(piece)) return Outcome::blocked;
    if (!posted_.empty()) return flush();
    if (frame_left_ == 0 && !is_over_) start_frame(piece);
    return push(piece);
}

Link::Outcome Link::push(std::size_t limit) {
    answers_ = answered_bytes_ = 0;
    std::array<iovec, most_vectors> vectors;
    std::size_t used = 0;
    const std::size_t head = head_end_ - head_begin_;
    if (head > 0) vectors[used++] = {head_.data() + head_begin_, head};
    used += outflow_.gather(std::span(vectors).subspan(used), std::min(frame_left_, limit));
    const ssize_t count = send_vectors(socket_.get(), std::span(vectors).first(used));
    if (count < 0) {
        may_write = false;
        return stopped();
    }
    const std::size_t from_head = std::min(static_cast<std::size_t>(count), head);
    const std::size_t from_payload = static_cast<std::size_t>(count) - from_head;
    head_begin_ += from_head;
    frame_left_ -= from_payload;
    outflow_.advance(from_payload);
    return Outcome::moved;
}

Link::Outcome Link::flush() {
    // A frame that has begun must end before another may start; one that has not is not begun any more.
    while (has_frame_under_way() && !is_first_frame_) {
        const Outcome outcome = push(frame_left_);
        if (outcome != Outcome::moved) return outcome;
    }
    while (!posted_.empty()) {
        const ssize_t count = ::send(socket_.get(), posted_.data(), posted_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0) {
            may_write = false;
            return stopped();
        }
        posted_.erase(0, static_cast<std::size_t>(count));
    }
    return Outcome::moved;
}

void Link::invite() {
    if (is_invited_ || !is_first_frame_) return;
    is_invited_ = true;
    post(frame(Tag::proceed));
    static_cast<void>(flush());  // if not now, `send` tries again; if never, the end of the stream says why
}

Link::Outcome Link::receive(std::size_t piece) {
    std::array<iovec, 2> vectors;
    const std::size_t used = is_lost_ ? 0 : inbox_.targets(vectors, piece);
    if (used == 0) return Outcome::blocked;
    const ssize_t count = receive_vectors(socket_.get(), std::span(vectors).first(used));
    if (count == 0) return Outcome::lost;
    if (count < 0) {
        may_read = false;
        return stopped();
    }
    std::size_t asked = 0;
    for (std::size_t i = 0; i < used; ++i) asked += vectors[i].iov_len;
    // Less than asked for: there is no more at this moment, and asking would only cost a system call.
    may_read = static_cast<std::size_t>(count) == asked;
    inbox_.received(static_cast<std::size_t>(count));
    return Outcome::moved;
}

// What a system call that has just failed means.
Link::Outcome Link::stopped() noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return Outcome::blocked;
    if (trouble_ == 0) trouble_ = errno;
    return Outcome::lost;
}

bool Link::is_unanswered() const noexcept {
    tcp_info info = {};
    socklen_t length = sizeof info;
    return ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_retransmits > 0;
}

void Link::give_up() noexcept {
    trouble_ = ETIMEDOUT;
    lose(false);
}

comm::Failure Link::departure(const std::string& where) const {
    const std::string rank = "rank " + std::to_string(rank_);
    const std::string who = rank + " (" + address_ + ")";
    if (has_said_goodbye_)
        return {who + " closed its communicator" + where, "let every rank make the same calls before any closes"};
    if (trouble_ == ETIMEDOUT || trouble_ == EHOSTUNREACH || trouble_ == ENETUNREACH || trouble_ == ENETDOWN)
        return {who + " cannot be reached any more (" + std::strerror(trouble_) + ")" + where,
                "see whether its machine runs and the network between; then start all ranks again"};
    return {who + " has died or exited" + where,
            "see the output of " + rank + " for what ended it; then start all ranks again"};
}

void Link::stop_sending() noexcept {
    is_over_ = true;
    is_first_frame_ = false;
    frame_left_ = head_begin_ = head_end_ = 0;
    posted_.clear();
}

void Link::end_sending() noexcept { ::shutdown(socket_.get(), SHUT_WR); }

void Link::leave() noexcept {
    if (!socket_) return;
    if (is_over_ && answers_ > 0 && !is_lost_) static_cast<void>(push(0));
    const bool at_boundary = !has_frame_under_way() || is_first_frame_;
    if (!is_lost_ && at_boundary && posted_.empty()) {
        std::array<std::byte, header_bytes> goodbye;
        put_header(goodbye.data(), Tag::shutdown, 0);
        static_cast<void>(!::send(socket_.get(), goodbye.data(), goodbye.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    close_without_reset(socket_);
    is_lost_ = true;
}

Link::LastMessage Link::examine() {
    std::vector<std::byte> bytes(inbox_.unread().begin(), inbox_.unread().end());
    const std::size_t buffered = bytes.size();
    // The stream has ended, so the kernel holds all that is left of it: no more than its buffer.
    int held = 0;
    static_cast<void>(::ioctl(socket_.get(), FIONREAD, &held));
    bytes.resize(buffered + static_cast<std::size_t>(std::max(held, 1)));
    const ssize_t count =
        ::recv(socket_.get(), bytes.data() + buffered, bytes.size() - buffered, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0) static_cast<void>(stopped());
    bytes.resize(buffered + (count > 0 ? static_cast<std::size_t>(count) : 0));
    return last_message_in(bytes, rank_, sequence_ + 1);
}

Link::LastMessage Link::last_message_in(std::span<const std::byte> rest, int rank, std::uint32_t next_sequence) {
    LastMessage last_message;
    std::uint64_t due = 0;
    bool has_called = false;
    bool has_begun = false;
    bool is_earlier = false;  // in a step that this rank has left
    while (const std::optional<Header> header = header_at(rest)) {
        if (header->length == 0 || rest.size() < header_bytes + header->payload_bytes()) break;
        const std::span<const std::byte> payload = rest.subspan(header_bytes, header->payload_bytes());
        rest = rest.subspan(header_bytes + payload.size());
        if (header->tag == Tag::shutdown) {
            last_message.news = News::shutdown;
            break;
        }
        if (header->tag == Tag::failure) {
            last_message.news = News::failure;
            last_message.failure = failure_from(payload);
            break;
        }
        if (header->tag == Tag::overdue) continue;
        if (header->tag == Tag::call) {
            if (has_begun && due == 0) break;  // what follows is about later steps
            const std::optional<WireCall> call = WireCall::decode(payload);
            is_earlier = call && is_before(call->sequence, next_sequence);
            has_called = call && !is_earlier;
            due = call ? call->contribution_bytes(rank) : 0;
            continue;
        }
        if (is_earlier) continue;
        has_begun = true;
        const std::size_t prefix = header->tag == Tag::allreduce_send && !payload.empty() ? 1 : 0;
        due -= std::min<std::uint64_t>(due, payload.size() - prefix);
    }
    last_message.has_contributed = last_message.news != News::failure && has_called && has_begun && due == 0;
    return last_message;
}

}  // namespace cobre::tcp
