#include "tcp/exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "comm/copy.hpp"
#include "comm/deadline.hpp"
#include "comm/fold.hpp"
#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

using std::chrono::duration;

// How long a rank whose timeout has run out gives rank 0 to say who is missing. On a busy machine rank 0 may not
// have had a processor for a second or more, and must not be blamed for that.
constexpr double grace_s = 4.0;
// With more connections than this a look at each would cost more than asking the kernel which are ready.
constexpr std::size_t most_tried_blindly = 8;
// How often something moves between two looks at the clock. Small payloads never get that far.
constexpr int moves_between_checks = 32;

}  // namespace

void OwnPart::place(std::size_t most) noexcept {
    const std::size_t bytes = std::min(most, left_);
    comm::copy_bytes(to_, from_, bytes, is_large_);
    from_ += bytes;
    to_ += bytes;
    left_ -= bytes;
}

Folding::Folding(comm::Group group, std::span<const std::unique_ptr<Link>> links, const comm::Buffer& send,
                 std::byte* out, comm::ReduceOp op)
    : group_(group),
      links_(links),
      send_(send),
      out_(out),
      op_(op),
      bytes_(send.bytes()),
      rows_(static_cast<std::size_t>(group.size)) {}

bool Folding::advance() {
    std::size_t bytes = bytes_ - folded_;
    for (const auto& link : links_) bytes = std::min(bytes, link->inflow().oldest().size());
    // In place the result overwrites our own numbers, so those must have left. (With more than two ranks rank 0
    // sends results, never its own numbers, and the others do not fold.)
    if (group_.size == 2 && out_ == send_.data && !links_[0]->is_sent())
        bytes = std::min(bytes, links_[0]->outflow().sent() - folded_);
    bytes -= bytes % send_.dtype.itemsize;
    if (bytes == 0) return false;
    rows_[static_cast<std::size_t>(group_.rank)] = send_.data + folded_;
    for (const auto& link : links_) rows_[static_cast<std::size_t>(link->rank())] = link->inflow().oldest().data();
    comm::fold_in_rank_order(rows_, bytes / send_.dtype.itemsize, send_.dtype, op_, out_ + folded_);
    for (const auto& link : links_) link->inflow().release(bytes);
    folded_ += bytes;
    return true;
}

WaitPolicy WaitPolicy::for_ranks(int local_ranks, int usable_cpus) noexcept {
    // Waking a sleeper takes some 50 us, so whoever sleeps after a shorter time sends the other to sleep as well,
    // and both stay slow. Offering the processor costs nothing while no other thread needs it, and is what the
    // awaited rank needs if it sits on the same one. With fewer processors than ranks every rank offers it between
    // two looks.
    return local_ranks <= usable_cpus ? WaitPolicy{40, 500} : WaitPolicy{0, 20};
}

void Exchange::adopt(Links links, WaitPolicy policy) {
    links_ = std::move(links);
    policy_ = policy;
    polled_.resize(links_.size() + 1);
}

void Exchange::run(const WireCall& call, OwnPart own, Folding* folding, comm::Caller& caller) {
    call_ = &call;
    calls_heard_ = 0;
    // Between two ranks each compares; among more rank 0 must first receive the calls that it waits for.
    const auto waits_for = [](const auto& link) { return !link->inbox().is_confirmed_later(); };
    calls_due_ = links_.size() == 1 ? 0 : static_cast<std::size_t>(std::ranges::count_if(links_, waits_for));
    may_send_ = may_begin_to_send();
    // Among more than two rank 0 passes on what this rank gives; of two, a broadcast is for the other alone.
    needs_taker_ = links_.size() == 1 && (group_.size > 2 || call.verb == comm::Verb::broadcast);
    notices_.clear();
    is_counting_ = is_in_grace_ = is_waiting_ = false;
    waited_s_ = 0.0;
    looks_ = moves_ = 0;
    for (const auto& link : links_) {
        link->may_write = true;
        link->may_read = links_.size() <= most_tried_blindly || link->inbox().is_confirmed_later();
    }
    for (;;) {
        bool has_moved = false;
        may_send_ = may_send_ || may_begin_to_send();
        for (const auto& link : links_) has_moved |= serve(*link);
        if (folding != nullptr) has_moved |= folding->advance();
        if (own.is_placed() && is_complete(folding)) break;
        if (!has_moved && looks_ == 0 && links_.size() > 1) invite_all();
        if (!has_moved && !own.is_placed()) {
            own.place(limits_.piece_bytes);
            for (const auto& link : links_) link->may_read = link->may_write = true;
            has_moved = true;
        }
        if (!has_moved) {
            wait(caller);
            continue;
        }
        looks_ = 0;
        is_counting_ = is_in_grace_ = false;
        if (++moves_ % moves_between_checks == 0) check_stop_requests_if_due(caller);
        if (is_waiting_) {
            is_waiting_ = false;
            waited_s_ += duration<double>(Clock::now() - waiting_since_).count();
        }
    }
    if (is_waiting_) waited_s_ += duration<double>(Clock::now() - waiting_since_).count();
}

// A root that need not hear the others may not be too far ahead of them.
bool Exchange::may_begin_to_send() const noexcept {
    const auto has_room = [](const auto& link) {
        return !link->inbox().is_confirmed_later() || link->inbox().unconfirmed().is_within_bounds();
    };
    return calls_heard_ >= calls_due_ && std::ranges::all_of(links_, has_room);
}

bool Exchange::serve(Link& link) {
    if (link.is_lost()) return false;
    bool has_moved = false;
    const bool is_left_early = link.inbox().is_confirmed_later();
    if (is_left_early && is_to_be_read(link)) has_moved = take(link);
    if (link.is_lost()) return true;
    if ((may_send_ || link.has_posted()) && link.may_write) {
        const Link::Outcome outcome = link.send(limits_.piece_bytes);
        if (outcome == Link::Outcome::lost) link.stop_sending();  // the end of the stream says why
        has_moved |= outcome == Link::Outcome::moved;
    }
    return (!is_left_early && take(link)) || has_moved;
}

// On a link where this rank gives and goes on: what the other side says of earlier steps, or that it has gone.
// Rank 0, whose watcher sees that, need not ask in every step.
bool Exchange::is_to_be_read(const Link& link) const noexcept {
    return group_.rank != 0 || !may_send_ || link.inbox().unconfirmed().calls() > Unconfirmed::most_calls / 2;
}

bool Exchange::take(Link& link) {
    if (is_heard_out(link)) return false;
    const std::size_t before = *link.inflow().progress();
    bool has_moved = false;
    for (bool has_received = false;;) {
        const News news = link.interpret();
        if (news != News::none) {
            act_on(link, news);
            has_moved = true;
            // What follows the last byte may be about later steps; it is looked at only if this one needs more.
            if (news == News::done || link.is_lost()) return true;
            continue;
        }
        if (has_received || !link.may_read) break;
        has_received = true;
        const Link::Outcome outcome = link.receive(limits_.piece_bytes);
        if (outcome == Link::Outcome::blocked) break;
        has_moved = true;
        if (outcome == Link::Outcome::lost) {
            lost(link, false);
            break;
        }
    }
    return has_moved || *link.inflow().progress() != before;
}

void Exchange::act_on(Link& link, News news) {
    switch (news) {
        case News::none:
        case News::done: return;
        case News::call:
            if (!link.inbox().call().agrees_with(*call_)) disagree(*call_);
            // Much data is asked for at once; where it is less, all of it is probably on its way already.
            if (links_.size() > 1 && link.inbox().call().contribution_bytes(link.rank()) > limits_.piece_bytes)
                link.invite();
            ++calls_heard_;
            may_send_ = may_send_ || may_begin_to_send();
            return;
        case News::odd_call: disagree(link.inbox().unconfirmed().oldest());
        case News::overdue:
            if (group_.rank == 0) note_overdue(link);
            return;
        case News::failure: throw Broken{link.inbox().failure(), group_.rank != 0};
        case News::shutdown: lost(link, true); return;
        case News::garbage:
            throw Broken{{"rank " + std::to_string(link.rank()) + " (" + link.address() + ") " +
                              link.inbox().failure().text + " in " + call_->describe(),
                          "run the same version of pycobre on every rank"}};
    }
}

// A worker holds back what may not fit the buffers until it knows that this rank receives.
void Exchange::invite_all() {
    for (const auto& link : links_) {
        const Inbox& inbox = link->inbox();
        if (inbox.has_call() && !inbox.is_done() && inbox.call().contribution_bytes(link->rank()) > always_fits)
            link->invite();
    }
}

void Exchange::lost(Link& link, bool has_said_goodbye) {
    const bool is_sent = link.is_sent();
    link.lose(has_said_goodbye);
    if (link.inbox().is_confirmed_later() && !is_sent)
        throw Broken{link.departure(" before " + me() + " gave it the data of " + call_->describe())};
    // A rank that has given all that this step needs may leave.
    if (link.inbox().is_done() && !is_owed(link)) return;
    if (link.inbox().is_done())
        throw Broken{link.departure(" before it had taken all that " + me() + " gave in " + call_->describe())};
    throw Broken{link.departure(" while " + me() + " waited for it in " + call_->describe())};
}

// Whether the step fails unless the other side takes more of what this rank gives.
bool Exchange::is_owed(const Link& link) const noexcept { return needs_taker_ && link.outflow().remaining() > 0; }

bool Exchange::is_awaited(const Link& link) const noexcept {
    return !link.is_lost() && (!link.inbox().is_done() || !link.inbox().unconfirmed().is_within_bounds());
}

bool Exchange::is_served(const Link& link) const noexcept {
    // If this rank exits, a call that arrives then resets the connection, and what is still to be sent is lost.
    const bool may_exit = link.inbox().unconfirmed().is_empty() || link.is_lost() || link.has_left_machine();
    return link.inbox().is_done() && link.is_sent() && !is_owed(link) && may_exit;
}

// What follows is about later steps, and must not fail this one: a rank that left right after it is no loss here.
// Rank 0 goes on listening to many, who may complain of each other.
bool Exchange::is_heard_out(const Link& link) const noexcept { return links_.size() == 1 && is_served(link); }

bool Exchange::is_complete(const Folding* folding) const noexcept {
    if (folding != nullptr && !folding->is_complete()) return false;
    return std::all_of(links_.begin(), links_.end(), [this](const auto& link) { return is_served(*link); });
}

void Exchange::wait(comm::Caller& caller) {
    // Reading the clock costs more than the first few looks, so a wait that ends with them is not timed.
    if (!is_waiting_ && looks_ >= policy_.looks) {
        is_waiting_ = true;
        waiting_since_ = Clock::now();
    }
    if (looks_ < policy_.looks + policy_.looks_with_yield) {
        if (++looks_ > policy_.looks) ::sched_yield();
        for (const auto& link : links_) link->may_read = link->may_write = true;
        return;
    }
    // The others wait for this rank's call if they have called something else.
    for (const auto& link : links_)
        if (link->send_answers()) return;
    if (!is_counting_) {
        is_counting_ = true;
        counting_since_ = Clock::now();
    }
    sleep();
    check_progress(caller);
}

void Exchange::sleep() {
    polled_[0] = {closing_.get(), POLLIN, 0};
    double longest_ms = comm::longest_sleep_ms;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = *links_[i];
        // Nothing wakes this rank when its machine has sent the rest.
        if (link.inbox().is_confirmed_later() && link.is_sent()) longest_ms = 1;
        short events = 0;
        if (!is_heard_out(link) && link.wants_to_receive()) events |= POLLIN;
        if ((may_send_ || link.has_posted()) && link.wants_to_send(limits_.piece_bytes)) events |= POLLOUT;
        // A connection that is asked for nothing would still report its end, again and again.
        polled_[i + 1] = {events == 0 ? -1 : link.fd(), events, 0};
    }
    const double left_s =
        timeout_s_ + (is_in_grace_ ? grace_s : 0.0) - duration<double>(Clock::now() - counting_since_).count();
    // Clamped before it becomes an int: a timeout of years has more milliseconds than that holds.
    const auto slice_ms = static_cast<int>(std::clamp(1000 * left_s + 1, 0.0, longest_ms));
    if (::poll(polled_.data(), polled_.size(), slice_ms) <= 0) return;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const short events = polled_[i + 1].revents;
        if ((events & ~POLLOUT) != 0) links_[i]->may_read = true;
        if ((events & ~POLLIN) != 0) links_[i]->may_write = true;
    }
}

// While data flows there is no sleep in which a signal or close() would be noticed.
void Exchange::check_stop_requests_if_due(comm::Caller& caller) {
    const Clock::time_point now = Clock::now();
    if (now - checked_at_ < std::chrono::milliseconds(comm::longest_sleep_ms)) return;
    checked_at_ = now;
    check_stop_requests(caller);
    check_overdue_notices();
}

void Exchange::check_stop_requests(comm::Caller& caller) {
    if (lifetime_.is_closed())
        throw Broken{
            {me() + " closed its communicator in " + call_->describe(), "close() only after the last collective"}};
    if (caller.is_interrupted()) throw comm::Interrupted{};
}

void Exchange::check_progress(comm::Caller& caller) {
    check_stop_requests(caller);
    check_overdue_notices();
    const double spent_s = duration<double>(Clock::now() - counting_since_).count();
    if (spent_s < timeout_s_) return;
    if (group_.rank != 0 && !is_in_grace_) {
        is_in_grace_ = true;
        links_[0]->post(frame(Tag::overdue));
        static_cast<void>(links_[0]->flush());
        return;
    }
    if (group_.rank != 0 && spent_s < timeout_s_ + grace_s) return;
    // Not even its kernel has taken our question: that is the network, or the machine.
    if (group_.rank != 0 && links_[0]->is_unanswered()) {
        links_[0]->give_up();
        throw Broken{links_[0]->departure(" while " + me() + " waited for it in " + call_->describe())};
    }
    const std::string awaited = missing();
    throw Broken{{"after " + comm::seconds_text(timeout_s_) + " " + me() + " still waits in " + call_->describe() +
                      " for " + (awaited.empty() ? slow_takers() + " to take its data" : awaited),
                  more_time}};
}

}  // namespace cobre::tcp
