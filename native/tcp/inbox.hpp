// Turns the bytes of one connection into a step's call, payload and news. Has no socket, so a fuzzer can feed
// it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tcp/flow.hpp"
#include "tcp/unconfirmed.hpp"
#include "tcp/wire.hpp"
#include "tcp/wire_call.hpp"

namespace cobre::tcp {

enum class News : std::uint8_t {
    none,      // nothing to act on; more bytes may be needed
    call,      // the other side's call is known: compare it before going on
    odd_call,  // in a step that this rank has left, or need not wait for, the other side called something else
    done,      // the last byte of this step is in its place; what follows may be about later ones
    overdue,   // the other side's timeout has run out while it waits for us
    failure,   // the other side says why the group has failed
    shutdown,  // the other side closed its communicator
    garbage    // the other side does not keep the protocol; `failure().text` says how
};

class Inbox {
public:
    // The step with this number: a call, then payload under `tag` that goes where `flow` says.
    void expect(std::uint32_t sequence, Tag tag);
    // Instead: this step needs nothing of the other side, whose equal call, without payload, may come later.
    void confirm_later(const WireCall& call);
    Inflow& flow() noexcept { return flow_; }
    const Inflow& flow() const noexcept { return flow_; }

    // Where to receive, at most `piece` bytes of payload at once: straight into place where that is known, and the
    // first bytes behind it into the buffer. No vector when nothing can be taken now.
    std::size_t targets(std::span<iovec, 2> vectors, std::size_t piece) noexcept;
    // `bytes` have been received into those targets.
    void received(std::size_t bytes) noexcept;
    // Makes sense of what has arrived, up to the first thing worth knowing. `none`: nothing more to be had.
    News interpret();

    bool has_call() const noexcept {
        return is_confirmed_later_ ? unconfirmed_.is_empty() : phase_ != Phase::call;
    }
    bool is_confirmed_later() const noexcept { return is_confirmed_later_; }
    const Unconfirmed& unconfirmed() const noexcept { return unconfirmed_; }
    // What the other side called in the step in which this rank calls `mine`, or has called it; nothing if
    // unknown.
    const WireCall* counterpart(const WireCall& mine) const noexcept;
    bool is_done() const noexcept { return phase_ == Phase::done; }
    // The other side has come to this step: it takes whatever we send.
    bool is_met() const noexcept { return is_met_; }
    // The next step's call is here already: nothing more can be taken now.
    bool is_ahead() const noexcept { return is_ahead_; }
    const WireCall& call() const noexcept { return call_; }
    const comm::Failure& failure() const noexcept { return failure_; }
    std::span<const std::byte> unread() const noexcept {
        return std::span(buffer_).subspan(begin_, end_ - begin_);
    }

private:
    enum class Phase : std::uint8_t { call, payload, done };

    News take_frame();
    News take_payload_header(const Header& header);
    News take_confirmation(const Header& header);
    News garbage(std::string text);
    void consume(std::size_t bytes) noexcept;
    bool place_buffered() noexcept;

    Inflow flow_;
    std::uint32_t sequence_ = 0;
    WireCall call_;
    Unconfirmed unconfirmed_;
    std::optional<WireCall> odd_call_;  // where the oldest unconfirmed one was due
    comm::Failure failure_;
    Phase phase_ = Phase::done;
    Tag tag_ = Tag::barrier_go;
    bool is_first_frame_ = true;
    bool is_ahead_ = false;
    bool is_met_ = false;
    bool is_confirmed_later_ = false;
    bool is_half_confirmed_ = false;  // the call has come, and its empty payload has not
    std::size_t frame_left_ = 0;      // payload bytes of the current frame that are still to come
    std::size_t direct_ = 0;          // how many of the next bytes go straight into place
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    // A small message, or several, in one system call.
    std::array<std::byte, 4 * longest_control_payload> buffer_;
};

}  // namespace cobre::tcp
