// How a communicator fails: what it remembers, what it sends to the other ranks, and which thread watches rank 0's
// connections while rank 0 computes.
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "comm/error.hpp"
#include "tcp/communicator.hpp"
#include "tcp/turn.hpp"

namespace cobre::tcp {

namespace {

using Clock = std::chrono::steady_clock;

// A rank that reads nothing for so long gets no message; it notices the end of the connection.
constexpr std::chrono::milliseconds sending_time{500};

constexpr const char* before = " before this step";

}  // namespace

void Communicator::fail_call(const char* operation, const Broken& broken) {
    remember(operation, broken.failure);
    if (!broken.is_known_to_others) send_failure_to_others(failure_->failure);
    lifetime_.require_usable(operation);  // closed by another thread: then that is the error
    repeat_failure(operation);
}

void Communicator::remember(const char* operation, comm::Failure failure) {
    if (!failure_) failure_ = KnownFailure{operation, std::move(failure)};
}

void Communicator::repeat_failure(const char* operation) {
    if (failure_->operation.empty()) failure_->operation = operation;  // found between two calls
    // The error keeps a pointer; this string exists as long as the communicator.
    throw comm::Error(comm::ErrorClass::collective_failed, failure_->operation.c_str(), 0, 0,
                      failure_->failure.text, failure_->failure.fix);
}

void Communicator::send_failure_to_others(const comm::Failure& failure) noexcept {
    try {
        const Clock::time_point until = Clock::now() + sending_time;
        const std::string words = failure_frame(failure);
        std::vector<Link*> untold;
        for (const auto& link : exchange_.links()) {
            if (link->is_lost()) continue;
            link->post(words);
            untold.push_back(link.get());
        }
        for (;;) {
            std::erase_if(untold, [](Link* link) { return link->flush() != Link::Outcome::blocked; });
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
            if (untold.empty() || left <= 0) break;
            std::vector<pollfd> polled;
            for (const Link* link : untold) polled.push_back({link->fd(), POLLOUT, 0});
            ::poll(polled.data(), polled.size(), static_cast<int>(left));
        }
        // A worker sends nothing more: the end of its connection wakes rank 0's watcher if rank 0 is computing.
        if (group_.rank != 0)
            for (const auto& link : exchange_.links()) link->end_sending();
    } catch (...) {  // out of memory: the others will notice the end of the connection
    }
}

// Ranks that gave all that the last step needed, and went: no later step can complete.
void Communicator::note_closed_links() {
    bool has_unwatched = false;
    for (std::size_t i = 0; i < is_unwatched_.size(); ++i) {
        has_unwatched |= is_unwatched_[i];
        is_unwatched_[i] = false;
    }
    if (has_unwatched) recheck_.signal();
    for (const auto& link : exchange_.links()) {
        if (!link->is_lost()) continue;
        remember("", link->departure(before));
        if (group_.rank == 0) send_failure_to_others(failure_->failure);
        return;
    }
}

void Communicator::watch() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // Python's signal handlers must run in Python's threads
    try {
        watch_until_closed();
    } catch (...) {  // closed or failed meanwhile: nothing is left to watch
    }
    const std::lock_guard guard(state_mutex_);
    is_watched_ = false;
    if (is_leaving_ && !is_busy_) leave();
}

void Communicator::watch_until_closed() {
    std::vector<pollfd> polled;
    for (;;) {
        polled.assign({{closing_.get(), POLLIN, 0}, {recheck_.get(), POLLIN, 0}});
        {
            const Turn turn(*this, "watch");  // throws once the communicator is closed or has failed
            for (std::size_t i = 0; i < exchange_.links().size(); ++i) {
                const Link& link = *exchange_.links()[i];
                // Poll for the end of a stream only, not for arriving data.
                if (!link.is_lost() && !is_unwatched_[i]) polled.push_back({link.fd(), POLLRDHUP, 0});
            }
        }
        if (::poll(polled.data(), polled.size(), 500 * limits_.keepalive_s) < 0) continue;
        if (polled[0].revents != 0) return;
        if (polled[1].revents != 0) recheck_.clear();
        const Turn turn(*this, "watch");
        check_closed_links();
        if (!failure_) drop_unresponsive_links();
    }
}

void Communicator::check_closed_links() {
    for (std::size_t i = 0; i < exchange_.links().size(); ++i) {
        Link& link = *exchange_.links()[i];
        pollfd polled{link.fd(), POLLRDHUP, 0};
        if (link.is_lost() || is_unwatched_[i] || ::poll(&polled, 1, 0) <= 0) continue;
        const Link::LastMessage last_message = link.examine();
        if (last_message.has_contributed) {
            is_unwatched_[i] = true;  // the step that comes next can do without it
            continue;
        }
        const bool has_reason = last_message.news == News::failure;
        link.lose(last_message.news == News::shutdown);
        remember("", has_reason ? last_message.failure : link.departure(before));
        send_failure_to_others(failure_->failure);
        return;
    }
}

// The kernel sends no keepalive probes while it still retransmits what we sent last, which takes up to a quarter
// of an hour. So we time this ourselves, for as long as keepalive would have taken.
void Communicator::drop_unresponsive_links() {
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < exchange_.links().size(); ++i) {
        Link& link = *exchange_.links()[i];
        if (link.is_lost() || is_unwatched_[i] || !link.is_unanswered()) {
            unanswered_since_[i].reset();
            continue;
        }
        if (!unanswered_since_[i]) unanswered_since_[i] = now;
        if (now - *unanswered_since_[i] < std::chrono::seconds(2 * limits_.keepalive_s)) continue;
        if (link.examine().has_contributed) continue;
        link.give_up();
        remember("", link.departure(before));
        send_failure_to_others(failure_->failure);
        return;
    }
}

}  // namespace cobre::tcp
