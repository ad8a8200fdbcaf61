// The error of a worker that did not find rank 0.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/deadline.hpp"
#include "tcp/joining.hpp"
#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

constexpr const char* silent = "it accepted the connection but did not answer";
// An attempt that the deadline has cut off after a shorter time says less than the one before.
constexpr std::chrono::milliseconds sending_time{1000};
constexpr std::size_t most_named = 32;

}  // namespace

// The reason of an attempt that was refused or found another program where no other address is left to try.
void Joining::fail_for(const Address& address) const {
    const bool is_refused = address.ended_as(State::refused);
    config_.fail(
        (is_refused ? "rank 0 at " + address.text + " says no: " : address.text + ": ") + address.failure.text,
        address.failure.fix);
}

void Joining::fail_everywhere() const {
    const auto is_listed = [](const Address& address) { return address.is_listed; };
    if (std::count_if(addresses_.begin(), addresses_.end(), is_listed) == 1)
        fail_for(*std::find_if(addresses_.begin(), addresses_.end(), is_listed));
    config_.fail("rank 0 is at no address of " + config_.place.host + ": " + reasons(),
                 std::string(secret_fix) + ", and check COBRE_TCP_COORDINATOR and COBRE_TCP_PORT");
}

void Joining::fail_at_the_deadline() {
    const std::string within = " within " + comm::seconds_text(config_.timeout_s);
    const char* keeps = "see what keeps rank 0, or whether another program listens there";
    if (chosen_)
        config_.fail("rank 0 at " + addresses_[*chosen_].text + " did not complete the group" + within, keeps);
    note_unfinished();
    if (addresses_.size() == 1 && addresses_[0].failure.text == silent)
        config_.fail("rank 0 at " + addresses_[0].text + " accepted the connection but did not answer" + within,
                     keeps);
    config_.fail(
        "no rank 0 at " + config_.place.host + " port " + std::to_string(config_.place.port) + within + ": " +
            reasons(),
        (has_been_refused_ ? std::string(secret_fix) + ", " : std::string()) +
            "start rank 0 there, check COBRE_TCP_COORDINATOR and COBRE_TCP_PORT and the firewall between, "
            "or allow more time: COBRE_TCP_CONNECT_TIMEOUT_MS or TcpConfig(connect_timeout=…)");
}

void Joining::note_unfinished() {
    if (lookup_ && addresses_.empty()) lookup_trouble_ = "the resolver does not answer";
    const Clock::time_point now = Clock::now();
    for (Address& address : addresses_) {
        if (!address.attempt || (address.outcome && now - address.since < sending_time)) continue;
        const bool is_connecting = address.attempt->state() == State::connecting;
        address.outcome = State::failed;
        address.failure = {is_connecting ? std::strerror(ETIMEDOUT) : silent, {}};
    }
}

// Once: a wrong secret is worth knowing before the deadline, though another address may still have our rank 0.
void Joining::warn_of_refusal() {
    if (has_warned_) return;
    has_warned_ = true;
    caller_.log(comm::Level::warning, "rank " + std::to_string(config_.group.rank) +
                                          " was refused at an address of " + config_.place.host +
                                          " and still tries the others: " + reasons() +
                                          "; if there is no other rank 0, " + secret_fix);
}

std::string Joining::reasons() const {
    const std::string port = ":" + std::to_string(config_.place.port);
    std::string list;
    std::size_t named = 0;
    for (const Address& address : addresses_) {
        if (!address.outcome || ++named > most_named) continue;
        const std::string reason = (address.ended_as(State::refused) ? "it says no: " : "") + address.failure.text;
        if (address.text == config_.place.host + port || address.text == "[" + config_.place.host + "]" + port)
            list = reason;  // the caller has named the address
        else list.append(list.empty() ? "" : "; ").append(address.text).append(": ").append(reason);
    }
    if (named > most_named) list.append("; and ").append(std::to_string(named - most_named)).append(" more");
    if (lookup_trouble_.empty()) return list.empty() ? "nothing listens there" : list;
    return list.empty() ? lookup_trouble_ : list + "; then " + lookup_trouble_;
}

}  // namespace cobre::tcp
