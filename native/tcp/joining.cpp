#include "tcp/joining.hpp"

#include <algorithm>
#include <stdexcept>

#include "comm/deadline.hpp"
#include "comm/machine.hpp"

namespace cobre::tcp {

namespace {

using std::chrono::milliseconds;

// RFC 8305, "Connection Attempt Delay": how long the attempts before have the network to themselves.
constexpr milliseconds longest_stagger{250};
// The kernel repeats a lost first packet after 1, 3 and 7 s; a new attempt is faster than that.
constexpr milliseconds longest_connecting{3000};
// Between two attempts at one address, doubling: where no process listens (yet), and where one has refused.
constexpr milliseconds first_pause{5}, longest_pause{100};
constexpr milliseconds first_pause_after_refusal{100}, longest_pause_after_refusal{1000};
constexpr milliseconds longest_lookup_pause{1000};
// How long a worker that was refused at one address of a name tries the others, where no process listens: its own
// rank 0 may have been started at the same time and be about to listen.
constexpr milliseconds policy{500};
// How long a worker that is connected to rank 0 waits beyond its deadline for the names of missing ranks: rank 0
// may have begun later, and may have to wait for a processor.
constexpr milliseconds failure_time{4000};

}  // namespace

Joining::Joining(const MeetingConfig& config, comm::Caller& caller) : config_(config), caller_(caller) {
    introduction_.rank = static_cast<std::uint32_t>(config.group.rank);
    introduction_.size = static_cast<std::uint32_t>(config.group.size);
    introduction_.host = comm::boot_id();
}

MeetingResult Joining::run() {
    for (;;) {
        const Clock::time_point now = Clock::now();
        if (now >= end()) fail_at_the_deadline();
        if (!chosen_) {
            look_up(now);
            start_due(now);
            judge(now);
        }
        sleep();
        if (caller_.is_interrupted()) throw comm::Interrupted{};
        for (std::size_t place = 0; place < addresses_.size(); ++place) serve(place);
        if (!chosen_) continue;
        Address& address = addresses_[*chosen_];
        if (address.attempt->state() != State::joined) continue;
        MeetingResult met;
        met.local_ranks = static_cast<int>(address.attempt->local_ranks());
        met.links.push_back(std::make_unique<Link>(address.attempt->release(), 0, address.text));
        return met;
    }
}

Joining::Clock::time_point Joining::end() const noexcept {
    return config_.deadline + (chosen_ ? failure_time : milliseconds(0));
}

// Again and again: the name may become known, or stand for another machine, while a cluster starts.
void Joining::look_up(Clock::time_point now) {
    try {
        if (!lookup_ && now >= next_lookup_) lookup_.emplace(config_.place.host, config_.place.port, false);
        if (!lookup_ || !lookup_->is_answered()) return;
        list(lookup_->take());
        lookup_trouble_.clear();
    } catch (const std::runtime_error& error) {
        lookup_trouble_ = error.what();
    }
    lookup_.reset();
    lookup_pause_ = std::clamp(2 * lookup_pause_, first_pause, longest_lookup_pause);
    next_lookup_ = now + lookup_pause_;
}

// An address that the name no longer stands for is not tried again; an attempt there may still succeed.
void Joining::list(const std::vector<Endpoint>& endpoints) {
    for (Address& address : addresses_)
        address.is_listed = std::find(endpoints.begin(), endpoints.end(), address.endpoint) != endpoints.end();
    std::erase_if(addresses_, [](const Address& address) { return !address.is_listed && !address.attempt; });
    for (const Endpoint& endpoint : endpoints) {
        const bool is_known = std::any_of(addresses_.begin(), addresses_.end(),
                                          [&](const Address& address) { return address.endpoint == endpoint; });
        if (is_known) continue;
        addresses_.emplace_back();
        addresses_.back().endpoint = endpoint;
        addresses_.back().text = endpoint.text();
    }
}

// First attempts are staggered, so that usually the first address is the only one. All have begun in half of the
// time that is left, however many there are.
void Joining::start_due(Clock::time_point now) {
    auto waiting = std::count_if(addresses_.begin(), addresses_.end(),
                                 [](const Address& address) { return !address.has_started; });
    for (Address& address : addresses_) {
        if (address.attempt || !address.is_listed) continue;
        if (now < (address.has_started ? address.next : next_start_)) continue;
        if (!address.has_started) {
            const Clock::duration share = (config_.deadline - now) / (2 * waiting--);
            next_start_ = now + std::min<Clock::duration>(share, longest_stagger);
        }
        address.has_started = true;
        address.since = now;
        address.attempt.emplace(address.endpoint, config_.keepalive_s, config_.secret, introduction_);
        if (address.attempt->is_over()) conclude(address, now);
    }
}

void Joining::sleep() {
    polled_.assign({{lookup_ ? lookup_->fd() : -1, POLLIN, 0}});
    for (const Address& address : addresses_)
        polled_.push_back(address.attempt ? address.attempt->wanted() : pollfd{-1, 0, 0});
    ::poll(polled_.data(), polled_.size(), comm::poll_ms_until(next_event()));
}

// When to look again though nothing has come.
Joining::Clock::time_point Joining::next_event() const noexcept {
    Clock::time_point next = end();
    if (chosen_) return next;
    if (!lookup_) next = std::min(next, next_lookup_);
    for (const Address& address : addresses_) {
        if (address.attempt && address.attempt->state() == State::connecting)
            next = std::min(next, address.since + longest_connecting);
        if (!address.attempt && address.is_listed)
            next = std::min(next, address.has_started ? address.next : next_start_);
    }
    return next;
}

void Joining::serve(std::size_t place) {
    Address& address = addresses_[place];
    if (!address.attempt) return;
    const Clock::time_point now = Clock::now();
    Attempt& attempt = *address.attempt;
    if (polled_[place + 1].revents != 0) attempt.proceed();
    else if (attempt.state() == State::connecting && now - address.since >= longest_connecting) attempt.expire();
    if (attempt.state() == State::proved && !chosen_) choose(place);
    if (attempt.is_over()) conclude(address, now);
}

// The others go first: rank 0 may be behind several of the addresses, and gets the introduction in one connection
// only.
void Joining::choose(std::size_t place) {
    chosen_ = place;
    lookup_.reset();
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
        if (i == place) continue;
        if (addresses_[i].attempt) addresses_[i].attempt->withdraw();
        addresses_[i].attempt.reset();
        addresses_[i].has_started = false;  // should rank 0 be lost again
    }
    addresses_[place].attempt->introduce();
}

void Joining::conclude(Address& address, Clock::time_point now) {
    address.ended = now;
    address.outcome = address.attempt->state();
    address.failure = address.attempt->failure();
    const bool has_met_rank_0 = address.attempt->has_met_rank_0();
    address.attempt.reset();
    chosen_.reset();  // only the chosen one is under way if there is one
    const bool has_said_no = address.ended_as(State::refused) || address.ended_as(State::foreign);
    if (has_said_no && has_met_rank_0) fail_for(address);
    has_been_refused_ |= address.ended_as(State::refused);
    address.pause = has_said_no
                        ? std::clamp(2 * address.pause, first_pause_after_refusal, longest_pause_after_refusal)
                        : std::clamp(2 * address.pause, first_pause, longest_pause);
    address.next = now + address.pause;
    next_start_ = now;  // the next address need not wait for this one any more
}

// Fails when no address is left: another program is at every address; or a rank 0 that refused us is at one, and
// at the others no process listens though they were tried again after a while.
void Joining::judge(Clock::time_point now) {
    std::size_t listed = 0, vacant = 0, foreign = 0, refused = 0;
    for (const Address& address : addresses_) {
        if (!address.is_listed) continue;
        ++listed;
        vacant += address.ended_as(State::vacant) && refused_since_ && address.ended - *refused_since_ >= policy;
        foreign += address.ended_as(State::foreign);
        refused += address.ended_as(State::refused);
    }
    if (listed > 0 && vacant + foreign + refused == listed) fail_everywhere();
    if (refused == 0) refused_since_.reset();
    else if (!refused_since_) refused_since_ = now;
    else if (now - *refused_since_ >= policy) warn_of_refusal();
}

}  // namespace cobre::tcp
