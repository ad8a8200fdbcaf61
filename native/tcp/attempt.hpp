// One attempt of a worker to join the group at one address. Never waits: its owner polls.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>

#include "tcp/handshake.hpp"
#include "tcp/socket.hpp"

namespace cobre::tcp {

class Attempt {
public:
    enum class State : std::uint8_t {
        connecting,
        unproved,  // connected; the other side has not proved that it is rank 0
        proved,    // the other side is rank 0; `introduce` is due, then its answer
        joined,
        // From here on the attempt is over.
        vacant,   // no process listens at the address
        foreign,  // another program listens there
        refused,  // a rank 0 refuses this worker; another group's, unless `has_met_rank_0`
        failed,   // a later attempt may succeed
    };

    // Begins to connect. `secret` outlives the attempt.
    Attempt(const Endpoint& endpoint, int keepalive_s, const Secret& secret, const Introduction& introduction);

    State state() const noexcept { return state_; }
    bool is_over() const noexcept { return state_ > State::joined; }
    bool has_met_rank_0() const noexcept { return handshake_.is_with_rank_0(); }
    // Of an attempt that is over: why, and what to do about it (empty if nothing in particular).
    const comm::Failure& failure() const noexcept { return failure_; }
    // Of one that has joined.
    std::uint32_t local_ranks() const noexcept { return handshake_.local_ranks(); }

    // What to poll for.
    pollfd wanted() const noexcept;
    // Does what can be done after poll() has found it ready.
    void proceed();
    // In `proved`: sends rank 0 the number of this rank. At most one attempt of a worker may, since rank 0 would
    // take a second one for another worker with the same rank.
    void introduce();
    // Gives up connecting.
    void expire();
    // Ends an attempt that is not needed any more, and notifies the other side that this is no failure.
    void withdraw() noexcept;
    // In `joined`: hands over the connection.
    comm::Descriptor release() noexcept { return std::move(socket_); }

private:
    void finish_connecting();
    void end(State state, std::string reason, std::string fix = {});

    WorkerHandshake handshake_;
    State state_ = State::connecting;
    comm::Descriptor socket_;
    std::string introduction_;  // as it goes over the wire
    comm::Failure failure_;
};

}  // namespace cobre::tcp
