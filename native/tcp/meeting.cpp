#include "tcp/meeting.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "comm/error.hpp"
#include "tcp/crowd.hpp"
#include "tcp/resolver.hpp"
#include "tcp/socket.hpp"
#include "tcp/words.hpp"

namespace cobre::tcp {

namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Long enough for a rank on a busy machine; a rank that is dropped all the same comes back.
constexpr milliseconds handshake_time{5000};
// Beyond this somebody has to make room.
constexpr std::size_t most_candidates = 256;
// What rank 0 holds beside its connections to the others and listening sockets: two bells and the standard
// streams, less the connection to itself.
constexpr rlim_t own_descriptors = 4;
// How often the kernel may choose a port that turns out to be taken at another address.
constexpr int most_port_choices = 16;
// "For ever", in years that the clock can count.
constexpr double longest_timeout_s = 1e9;

}  // namespace

Meeting::Meeting(comm::Group group, Place place, std::string secret, double timeout_s, int keepalive_s,
                 Caller& caller)
    : group_(group),
      place_(std::move(place)),
      secret_(std::move(secret)),
      timeout_s_(timeout_s),
      keepalive_s_(keepalive_s),
      deadline_(Clock::now() +
                duration_cast<Clock::duration>(duration<double>(std::min(timeout_s, longest_timeout_s)))),
      caller_(caller) {}

void Meeting::fail(std::string what, std::string fix) const {
    throw comm::Error(
        comm::ErrorClass::initialization_failed, "tcp", 0, 0,
        "rank " + std::to_string(group_.rank) + " of " + std::to_string(group_.size) + ": " + std::move(what),
        std::move(fix));
}

int Meeting::listen() {
    std::vector<Endpoint> endpoints;
    try {
        endpoints = look_up(place_.host, place_.port, true, deadline_, caller_);
    } catch (const std::runtime_error& error) {
        fail("cannot listen at " + place_.host + ": " + error.what(),
             "choose an address of this machine in COBRE_TCP_BIND_ADDR");
    }
    rlimit files = {};
    const auto needed = static_cast<rlim_t>(group_.size) + own_descriptors + endpoints.size();
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed)
        fail("a group of " + std::to_string(group_.size) + " ranks needs " + std::to_string(needed) +
                 " open files on rank 0, and " + std::to_string(files.rlim_cur) + " are allowed",
             "allow more open files where rank 0 starts (ulimit -n), or use fewer ranks");
    seats_.resize(static_cast<std::size_t>(group_.size));
    int choices_left = most_port_choices;
    while (!open_listeners(endpoints, --choices_left > 0)) continue;
    return local_endpoint(listeners_.front()).port();
}

// False when the port that the kernel chose for the first address is taken at another, and `may_choose_again`.
bool Meeting::open_listeners(std::vector<Endpoint> endpoints, bool may_choose_again) {
    listeners_.clear();
    int port = place_.port;
    for (Endpoint& endpoint : endpoints) {
        endpoint.set_port(port);
        try {
            listeners_.push_back(listen_at(endpoint, endpoints.size() > 1));
            port = local_endpoint(listeners_.back()).port();
        } catch (const std::system_error& error) {
            const int code = error.code().value();
            // A name may stand for other machines too, and a kernel may lack a family: one that works is enough.
            const bool is_not_ours = code == EADDRNOTAVAIL || code == EAFNOSUPPORT;
            if (is_not_ours && (!listeners_.empty() || &endpoint != &endpoints.back())) continue;
            if (code == EADDRINUSE && place_.port == 0 && may_choose_again) return false;
            fail("cannot listen at " + endpoint.text() + ": " + error.code().message(),
                 code == EADDRINUSE
                     ? "choose another COBRE_TCP_PORT on every rank, or end the program that listens there"
                     : "choose an address of this machine in COBRE_TCP_BIND_ADDR, and a port above 1023");
        }
    }
    return true;
}

std::vector<std::string> Meeting::listening_at() const {
    std::vector<std::string> addresses;
    for (const Descriptor& listener : listeners_) addresses.push_back(local_endpoint(listener).text());
    return addresses;
}

Met Meeting::gather() {
    const auto is_complete = [&] {
        return std::all_of(seats_.begin() + 1, seats_.end(), [](const Seat& seat) { return bool(seat.socket); });
    };
    std::vector<pollfd> polled;
    while (!is_complete()) {
        polled.clear();
        for (const Descriptor& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
        Clock::time_point until = std::min(deadline_, Clock::now() + milliseconds(longest_sleep_ms));
        for (const Candidate& candidate : candidates_) {
            polled.push_back({candidate.socket.get(), POLLIN, 0});
            until = std::min(until, candidate.deadline);
        }
        for (const Seat& seat : seats_) polled.push_back({seat.socket.get(), POLLRDHUP, 0});
        const auto left = duration_cast<milliseconds>(until - Clock::now()).count();
        const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(left + 1, 0)));
        if (ready > 0) {
            // Back to front, because a candidate that is served leaves the list.
            for (std::size_t i = candidates_.size(); i-- > 0;)
                if (polled[listeners_.size() + i].revents != 0 && hear(candidates_[i]))
                    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
            for (std::size_t i = 0; i < listeners_.size(); ++i)
                if (polled[i].revents != 0) admit_newcomers(listeners_[i]);
            look_after_seats();
        }
        dismiss_overdue();
        if (caller_.is_interrupted()) {
            send_to_seated(failure_frame({"rank 0 was interrupted by a signal", "start all ranks again"}));
            throw Interrupted{};
        }
        if (Clock::now() >= deadline_ && !is_complete()) {
            const Failure failure{
                "rank 0 waited " + seconds_text(timeout_s_) + " for " + absent() + " in vain" +
                    (has_lacked_descriptors_ ? ", and had to turn connections away for want of open files" : ""),
                has_lacked_descriptors_
                    ? "allow more open files where rank 0 starts (ulimit -n), or close some there"
                    : "start all ranks with the same coordinator, port, size and secret, or allow more "
                      "time: COBRE_TCP_CONNECT_TIMEOUT_MS or TcpConfig(connect_timeout=…)"};
            send_to_seated(failure_frame(failure));
            fail(failure.text, failure.fix);
        }
    }
    return welcome();
}

void Meeting::admit_newcomers(const Descriptor& listener) {
    for (int i = 0; i < 64; ++i) {
        Endpoint peer;
        Descriptor socket = accept_from(listener, peer, keepalive_s_);
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE) return;
            has_lacked_descriptors_ = true;
            // Out of descriptors: strangers hold them.
            if (candidates_.empty()) return pause(milliseconds(10));
            make_room("no descriptors were left");
            continue;
        }
        if (candidates_.size() == most_candidates) make_room("too many connections waited");
        candidates_.push_back({std::move(socket), peer.text(), peer.source(),
                               std::min(deadline_, Clock::now() + handshake_time), Doorkeeper(secret_)});
        send_small(candidates_.back().socket, candidates_.back().door.challenge());
    }
}

void Meeting::make_room(std::string reason) {
    std::vector<Waiting> waiting;
    for (const Candidate& candidate : candidates_)
        waiting.push_back({candidate.source, candidate.door.state() == Doorkeeper::State::introducing});
    Candidate& dismissed = candidates_[whom_to_dismiss(waiting, chance_)];
    visitors_.add(dismissed.address, std::move(reason));
    std::swap(dismissed, candidates_.back());
    candidates_.pop_back();
}

// Whether the candidate is done with, one way or the other.
bool Meeting::hear(Candidate& candidate) {
    const std::span<std::byte> room = candidate.door.room();
    const ssize_t count = ::recv(candidate.socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
        visitors_.add(candidate.address, std::string("it left without proving anything") +
                                             (count == 0 ? "" : std::string(": ") + std::strerror(errno)));
        return true;
    }
    candidate.door.received(static_cast<std::size_t>(count));
    const std::string answer = candidate.door.proceed([&](const Introduction& who) -> std::optional<std::string> {
        const std::string size = std::to_string(group_.size);
        if (who.size != static_cast<std::uint32_t>(group_.size))
            return "it belongs to a group of " + std::to_string(who.size) + " ranks, rank 0 to one of " + size;
        if (who.rank == 0 || who.rank >= who.size)
            return "it calls itself rank " + std::to_string(who.rank) + " of " + size;
        if (seats_[who.rank].socket)
            return "there is a rank " + std::to_string(who.rank) + " already, at " + seats_[who.rank].address;
        return std::nullopt;
    });
    send_small(candidate.socket, answer);
    if (candidate.door.state() == Doorkeeper::State::refused) {
        visitors_.add(candidate.address, candidate.door.reason());
        // Read what is left, or the kernel would answer it with a reset that destroys our refusal on its way.
        ::shutdown(candidate.socket.get(), SHUT_WR);
        std::array<std::byte, 4096> unread;
        static_cast<void>(!::recv(candidate.socket.get(), unread.data(), unread.size(), MSG_DONTWAIT));
        return true;
    }
    if (candidate.door.state() != Doorkeeper::State::accepted) return false;
    const Introduction& who = candidate.door.introduction();
    seats_[who.rank] = {std::move(candidate.socket), candidate.address, who.host};
    return true;
}

void Meeting::dismiss_overdue() {
    const Clock::time_point now = Clock::now();
    std::erase_if(candidates_, [&](const Candidate& candidate) {
        if (now < candidate.deadline) return false;
        visitors_.add(candidate.address,
                      "it proved nothing in " + seconds_text(duration<double>(handshake_time).count()));
        return true;
    });
}

// A rank that dies before the group is complete may be started again.
void Meeting::look_after_seats() {
    for (std::size_t rank = 1; rank < seats_.size(); ++rank) {
        Seat& seat = seats_[rank];
        pollfd polled{seat.socket.get(), POLLRDHUP, 0};
        if (!seat.socket || ::poll(&polled, 1, 0) <= 0) continue;
        visitors_.add(seat.address, "rank " + std::to_string(rank) + " left before the group was complete");
        seat = {};
        seat.has_left = true;
    }
}

Met Meeting::welcome() {
    listeners_.clear();
    for (const Candidate& candidate : candidates_) visitors_.add(candidate.address, "the group is complete");
    candidates_.clear();
    seats_[0].host = host_identity();
    Met met;
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
        Seat& seat = seats_[rank];
        const auto neighbours = std::count_if(seats_.begin(), seats_.end(),
                                              [&](const Seat& other) { return other.host == seat.host; });
        if (rank == 0) {
            met.neighbours = static_cast<int>(neighbours);
            continue;
        }
        send_small(seat.socket,
                   ack_frame(static_cast<std::uint32_t>(group_.size), static_cast<std::uint32_t>(neighbours)));
        met.links.push_back(std::make_unique<Link>(std::move(seat.socket), static_cast<int>(rank), seat.address));
    }
    return met;
}

void Meeting::send_to_seated(const std::string& bytes) noexcept {
    for (const Seat& seat : seats_)
        if (seat.socket) send_small(seat.socket, bytes);
}

std::string Meeting::absent() const {
    std::vector<int> unseen;
    std::vector<int> gone;
    for (std::size_t rank = 1; rank < seats_.size(); ++rank)
        if (!seats_[rank].socket) (seats_[rank].has_left ? gone : unseen).push_back(static_cast<int>(rank));
    const std::string list = names_of(unseen);
    const std::string rest = names_of(gone, " (came and left)");
    return list + (list.empty() || rest.empty() ? "" : ", ") + rest;
}

void Meeting::wait_for(int fd, short events, Clock::time_point until) {
    for (;;) {
        pollfd polled{fd, events, 0};
        const auto left = duration_cast<milliseconds>(until - Clock::now()).count();
        const int slice = static_cast<int>(std::clamp<long>(left + 1, 0, longest_sleep_ms));
        const int ready = ::poll(&polled, 1, slice);
        if (caller_.is_interrupted()) throw Interrupted{};
        if (ready > 0 || Clock::now() >= until) return;
    }
}

}  // namespace cobre::tcp
