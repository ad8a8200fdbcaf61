// How a worker finds rank 0.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "tcp/meeting.hpp"
#include "tcp/resolver.hpp"
#include "tcp/words.hpp"

namespace cobre::tcp {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How long a rank waits beyond its deadline for rank 0 to say who is missing.
constexpr milliseconds verdict_time{2000};
constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{100};
// Of one address that does not answer, before the next one has its turn.
constexpr milliseconds longest_attempt{3000};
// Below this, silence means nothing.
constexpr milliseconds telling_attempt{100};
// How long a worker that was refused at one address of a name gives the others, where nobody listens: its own rank
// 0 may have been started with it, and be about to.
constexpr milliseconds patience{500};
// A name may stand for something else in every round; the error stays readable.
constexpr std::size_t most_troubles = 32;

constexpr const char* secret_fix = "give every rank the same COBRE_TCP_SECRET (or TcpConfig(secret=…))";

// Not ETIMEDOUT: whoever is slow may be there all the same.
bool means_nobody(int error) noexcept {
    return error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT;
}

}  // namespace

Met Meeting::join() {
    milliseconds time = first_pause;
    Met met;
    do {
        try {
            const auto endpoints = look_up(place_.host, place_.port, false, deadline_, caller_);
            lookup_trouble_.clear();
            if (join_at_any(endpoints, met)) return met;
        } catch (const std::runtime_error& error) {  // the name may become known while we wait, as in a cluster
            lookup_trouble_ = error.what();
        }
        pause(std::clamp(duration_cast<milliseconds>(deadline_ - Clock::now()), milliseconds(0), time));
        time = std::min(2 * time, longest_pause);
    } while (Clock::now() < deadline_);
    fail("no rank 0 at " + place_.host + " port " + std::to_string(place_.port) + " within " +
             seconds_text(timeout_s_) + ": " + troubles(),
         (has_been_refused_ ? std::string(secret_fix) + ", " : std::string()) +
             "start rank 0 there, check COBRE_TCP_COORDINATOR and COBRE_TCP_PORT and the firewall between, or "
             "allow "
             "more time: COBRE_TCP_CONNECT_TIMEOUT_MS or TcpConfig(connect_timeout=…)");
}

// One round. Each address has its share of what time is left: none that is silent may cost the others theirs.
bool Meeting::join_at_any(const std::vector<Endpoint>& endpoints, Met& met) {
    Round round;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        const Clock::time_point now = Clock::now();
        const auto share = std::max(deadline_ - now, Clock::duration(0)) / (endpoints.size() - i);
        switch (apply(endpoints[i], now + std::min<Clock::duration>(share, longest_attempt), endpoints.size() == 1,
                      met)) {
            case Attempt::joined: return true;
            case Attempt::refused: ++round.refusals; break;
            case Attempt::misled: ++round.strangers; break;
            case Attempt::nobody: ++round.vacant; break;
            case Attempt::failed: ++round.open; break;
        }
    }
    if (is_over(round))
        fail("rank 0 is at no address of " + place_.host + ": " + troubles(),
             std::string(secret_fix) + ", and check COBRE_TCP_COORDINATOR and COBRE_TCP_PORT");
    return false;
}

// Whether there is nobody left to ask: somebody else is at every address, or a rank 0 that refused us is at one,
// and at the others nobody has come to listen for a while.
bool Meeting::is_over(const Round& round) {
    has_been_refused_ |= round.refusals > 0;
    if (round.open + round.vacant == 0) return round.refusals + round.strangers > 0;
    if (round.open > 0 || round.refusals == 0) {
        refused_since_.reset();
        return false;
    }
    if (!refused_since_) refused_since_ = Clock::now();
    return Clock::now() - *refused_since_ >= patience;
}

void Meeting::note_trouble(const std::string& address, std::string reason, bool is_hasty) {
    const auto known = std::find_if(troubles_.begin(), troubles_.end(),
                                    [&](const Trouble& trouble) { return trouble.address == address; });
    if (known != troubles_.end() && !is_hasty) known->reason = std::move(reason);
    else if (known == troubles_.end() && troubles_.size() < most_troubles)
        troubles_.push_back({address, std::move(reason)});
}

std::string Meeting::troubles() const {
    if (troubles_.empty()) return lookup_trouble_.empty() ? "nothing listens there" : lookup_trouble_;
    const std::string port = ":" + std::to_string(place_.port);
    std::string list;
    for (const Trouble& trouble : troubles_)
        if (trouble.address == place_.host + port || trouble.address == "[" + place_.host + "]" + port)
            list = trouble.reason;  // an address, said already
        else list.append(list.empty() ? "" : "; ").append(trouble.address).append(": ").append(trouble.reason);
    return lookup_trouble_.empty() ? list : list + "; then " + lookup_trouble_;
}

// `failed` when another attempt may succeed, `nobody` when nobody listens there, `misled` when another program
// does, `refused` when a rank 0 says no that may be another group's: if it is the only address, and if our own
// rank 0 says no, that is the end.
Meeting::Attempt Meeting::apply(const Endpoint& endpoint, Clock::time_point until, bool is_only, Met& met) {
    const std::string address = endpoint.text();
    // The last attempts before the deadline are short, and say less than the ones before.
    const bool is_hasty = until - Clock::now() < telling_attempt;
    const auto failed = [&](std::string reason, int error = 0) {
        note_trouble(address, std::move(reason), error == ETIMEDOUT && is_hasty);
        return means_nobody(error) ? Attempt::nobody : Attempt::failed;
    };
    Descriptor socket;
    try {
        socket = begin_connecting(endpoint, keepalive_s_);
    } catch (const std::system_error& error) {
        return failed(error.code().message(), error.code().value());
    }
    wait_for(socket.get(), POLLOUT, until);
    pollfd polled{socket.get(), POLLOUT, 0};
    const int error = ::poll(&polled, 1, 0) > 0 ? connect_error(socket) : ETIMEDOUT;
    if (error != 0) return failed(std::strerror(error), error);
    if (is_connected_to_itself(socket)) return failed("nothing listens there", ECONNREFUSED);
    Introduction introduction;
    introduction.rank = static_cast<std::uint32_t>(group_.rank);
    introduction.size = static_cast<std::uint32_t>(group_.size);
    introduction.host = host_identity();
    Applicant applicant(secret_, introduction);
    if (is_only) until = deadline_;  // nobody else to ask meanwhile
    for (;;) {
        wait_for(socket.get(), POLLIN, until);
        const std::span<std::byte> room = applicant.room();
        const ssize_t count = ::recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (Clock::now() < until) continue;
            if (!is_only && !applicant.is_with_rank_0())
                return failed("it accepted the connection but did not answer", ETIMEDOUT);
            fail("rank 0 at " + address +
                     (applicant.is_with_rank_0() ? " did not complete the group within "
                                                 : " accepted the connection but did not answer within ") +
                     seconds_text(timeout_s_),
                 "see what keeps rank 0, or whether another program listens there");
        }
        if (count <= 0) return failed("rank 0 closed the connection during the introduction");
        applicant.received(static_cast<std::size_t>(count));
        send_small(socket, applicant.proceed());
        if (applicant.is_with_rank_0()) until = deadline_ + verdict_time;
        if (applicant.state() == Applicant::State::joined) break;
        const bool is_misled = applicant.state() == Applicant::State::misled;
        if (!is_misled && applicant.state() != Applicant::State::refused) continue;
        const Failure& failure = applicant.failure();
        if (is_only || applicant.is_with_rank_0())
            fail(is_misled ? address + ": " + failure.text : "rank 0 at " + address + " says no: " + failure.text,
                 failure.fix);
        note_trouble(address, is_misled ? failure.text : "it says no: " + failure.text, false);
        return is_misled ? Attempt::misled : Attempt::refused;
    }
    met.neighbours = static_cast<int>(applicant.neighbours());
    met.links.push_back(std::make_unique<Link>(std::move(socket), 0, address));
    return Attempt::joined;
}

}  // namespace cobre::tcp
