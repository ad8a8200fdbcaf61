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

#include "comm/deadline.hpp"
#include "comm/error.hpp"
#include "comm/machine.hpp"
#include "tcp/admission.hpp"
#include "tcp/resolver.hpp"
#include "tcp/socket.hpp"
#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Long enough for a rank on a busy machine; a rank that is dropped all the same comes back.
constexpr milliseconds handshake_time{5000};
// Beyond this number a connection is evicted.
constexpr std::size_t most_candidates = 256;
// What rank 0 holds beside its connections to the others and listening sockets: two bells and the standard
// streams, less the connection to itself.
constexpr rlim_t own_descriptors = 4;
// How often the kernel may choose a port that turns out to be taken at another address.
constexpr int most_port_choices = 16;

}  // namespace

int Meeting::listen() {
    std::vector<Endpoint> endpoints;
    try {
        endpoints = look_up(config_.place.host, config_.place.port, true, config_.deadline, caller_);
    } catch (const std::runtime_error& error) {
        config_.fail("cannot listen at " + config_.place.host + ": " + error.what(),
                     "choose an address of this machine in COBRE_TCP_BIND_ADDR");
    }
    rlimit files = {};
    const auto needed = static_cast<rlim_t>(config_.group.size) + own_descriptors + endpoints.size();
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed)
        config_.fail("a group of " + std::to_string(config_.group.size) + " ranks needs " +
                         std::to_string(needed) + " open files on rank 0, and " + std::to_string(files.rlim_cur) +
                         " are allowed",
                     "allow more open files where rank 0 starts (ulimit -n), or use fewer ranks");
    members_.resize(static_cast<std::size_t>(config_.group.size));
    int choices_left = most_port_choices;
    while (!open_listeners(endpoints, --choices_left > 0)) continue;
    return local_endpoint(listeners_.front()).port();
}

// False when the port that the kernel chose for the first address is taken at another, and `may_choose_again`.
bool Meeting::open_listeners(std::vector<Endpoint> endpoints, bool may_choose_again) {
    listeners_.clear();
    int port = config_.place.port;
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
            if (code == EADDRINUSE && config_.place.port == 0 && may_choose_again) return false;
            config_.fail("cannot listen at " + endpoint.text() + ": " + error.code().message(),
                         code == EADDRINUSE
                             ? "choose another COBRE_TCP_PORT on every rank, or end the program that listens there"
                             : "choose an address of this machine in COBRE_TCP_BIND_ADDR, and a port above 1023");
        }
    }
    return true;
}

std::vector<std::string> Meeting::listening_at() const {
    std::vector<std::string> addresses;
    for (const comm::Descriptor& listener : listeners_) addresses.push_back(local_endpoint(listener).text());
    return addresses;
}

bool Meeting::is_complete() const {
    return std::all_of(members_.begin() + 1, members_.end(),
                       [](const Member& member) { return bool(member.socket); });
}

MeetingResult Meeting::gather() {
    std::vector<pollfd> polled;
    while (!is_complete()) {
        polled.clear();
        for (const comm::Descriptor& listener : listeners_) polled.push_back({listener.get(), POLLIN, 0});
        Clock::time_point until = config_.deadline;
        for (const Candidate& candidate : candidates_) {
            polled.push_back({candidate.socket.get(), POLLIN, 0});
            until = std::min(until, candidate.deadline);
        }
        for (const Member& member : members_) polled.push_back({member.socket.get(), POLLRDHUP, 0});
        if (::poll(polled.data(), polled.size(), comm::poll_ms_until(until)) > 0) {
            // Back to front, because a candidate that is served leaves the list.
            for (std::size_t i = candidates_.size(); i-- > 0;)
                if (polled[listeners_.size() + i].revents != 0 && serve(candidates_[i]))
                    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
            for (std::size_t i = 0; i < listeners_.size(); ++i)
                if (polled[i].revents != 0) accept_connections(listeners_[i]);
            free_lost_members();
        }
        drop_overdue();
        if (caller_.is_interrupted()) {
            send_to_members(failure_frame({"rank 0 was interrupted by a signal", "start all ranks again"}));
            throw comm::Interrupted{};
        }
        if (Clock::now() >= config_.deadline && !is_complete()) fail_incomplete();
    }
    return acknowledge_all();
}

void Meeting::fail_incomplete() {
    dropped_.log_rest();
    const comm::Failure failure{
        "rank 0 waited " + comm::seconds_text(config_.timeout_s) + " for " + absent() + " in vain" +
            (has_lacked_descriptors_ ? ", and had to refuse connections because too few files may be open" : "") +
            dropped_.refused_text(),
        has_lacked_descriptors_
            ? "allow more open files where rank 0 starts (ulimit -n), or close some there"
            : "start all ranks with the same coordinator, port, size and secret, or allow more "
              "time: COBRE_TCP_CONNECT_TIMEOUT_MS or TcpConfig(connect_timeout=…)"};
    send_to_members(failure_frame(failure));
    config_.fail(failure.text, failure.fix);
}

void Meeting::accept_connections(const comm::Descriptor& listener) {
    for (int i = 0; i < 64; ++i) {
        Endpoint peer;
        comm::Descriptor socket = accept_from(listener, peer, config_.keepalive_s);
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE) return;
            has_lacked_descriptors_ = true;
            // Out of descriptors: connections without proof hold them.
            if (candidates_.empty()) return void(::poll(nullptr, 0, 10));
            make_room("no descriptors were left");
            continue;
        }
        if (candidates_.size() == most_candidates) make_room("too many connections waited");
        candidates_.push_back({std::move(socket), peer.text(), peer.source(),
                               std::min(config_.deadline, Clock::now() + handshake_time),
                               HubHandshake(config_.secret)});
        send_small(candidates_.back().socket, candidates_.back().handshake.challenge());
    }
}

void Meeting::make_room(const std::string& reason) {
    std::vector<Connection> waiting;
    for (const Candidate& candidate : candidates_)
        waiting.push_back({candidate.source, candidate.handshake.state() == HubHandshake::State::introducing});
    Candidate& evicted = candidates_[choose_eviction(waiting, chance_)];
    dropped_.refuse(evicted.address, reason);
    std::swap(evicted, candidates_.back());
    candidates_.pop_back();
}

// Reads from a connection; whether it can leave the list of candidates.
bool Meeting::serve(Candidate& candidate) {
    const std::span<std::byte> room = candidate.handshake.room();
    const ssize_t count = ::recv(candidate.socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
        const bool has_proved = candidate.handshake.state() == HubHandshake::State::introducing;
        dropped_.count_lost(candidate.address,
                            std::string(has_proved ? "it left without saying which rank it is"
                                                   : "it left without proving that it has the secret") +
                                (count == 0 ? "" : std::string(": ") + std::strerror(errno)));
        return true;
    }
    candidate.handshake.received(static_cast<std::size_t>(count));
    send_small(candidate.socket,
               candidate.handshake.proceed([this](const Introduction& who) { return reason_to_refuse(who); }));
    switch (candidate.handshake.state()) {
        case HubHandshake::State::proving:
        case HubHandshake::State::introducing: return false;
        case HubHandshake::State::withdrawn: return true;
        case HubHandshake::State::refused:
            dropped_.refuse(candidate.address, candidate.handshake.reason());
            close_without_reset(candidate.socket);
            return true;
        case HubHandshake::State::accepted: break;
    }
    const Introduction& who = candidate.handshake.introduction();
    members_[who.rank] = {std::move(candidate.socket), candidate.address, who.host};
    caller_.log(comm::Level::info, "rank " + std::to_string(who.rank) + " has joined from " + candidate.address);
    return true;
}

std::optional<std::string> Meeting::reason_to_refuse(const Introduction& who) {
    const std::string size = std::to_string(config_.group.size);
    if (who.size != static_cast<std::uint32_t>(config_.group.size))
        return "it belongs to a group of " + std::to_string(who.size) + " ranks, rank 0 to one of " + size;
    if (who.rank == 0 || who.rank >= who.size)
        return "it calls itself rank " + std::to_string(who.rank) + " of " + size;
    free_if_lost(who.rank);
    if (members_[who.rank].socket)
        return "there is a rank " + std::to_string(who.rank) + " already, at " + members_[who.rank].address;
    return std::nullopt;
}

void Meeting::drop_overdue() {
    const Clock::time_point now = Clock::now();
    std::erase_if(candidates_, [&](const Candidate& candidate) {
        if (now < candidate.deadline) return false;
        dropped_.refuse(candidate.address,
                        "it proved nothing in " + comm::seconds_text(duration<double>(handshake_time).count()));
        return true;
    });
}

// A rank that dies before the group is complete may be started again.
void Meeting::free_lost_members() {
    for (std::size_t rank = 1; rank < members_.size(); ++rank) free_if_lost(rank);
}

void Meeting::free_if_lost(std::size_t rank) {
    Member& member = members_[rank];
    pollfd polled{member.socket.get(), POLLRDHUP, 0};
    if (!member.socket || ::poll(&polled, 1, 0) <= 0) return;
    dropped_.count_lost(member.address, "rank " + std::to_string(rank) + " left before the group was complete");
    member = {};
    member.has_left = true;
}

MeetingResult Meeting::acknowledge_all() {
    listeners_.clear();
    for (const Candidate& candidate : candidates_) dropped_.count_lost(candidate.address, "the group is complete");
    dropped_.log_rest();
    candidates_.clear();
    members_[0].host = comm::boot_id();
    MeetingResult met;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        Member& member = members_[rank];
        const auto local_ranks = std::count_if(members_.begin(), members_.end(),
                                               [&](const Member& other) { return other.host == member.host; });
        if (rank == 0) {
            met.local_ranks = static_cast<int>(local_ranks);
            continue;
        }
        send_small(member.socket, ack_frame(static_cast<std::uint32_t>(config_.group.size),
                                            static_cast<std::uint32_t>(local_ranks)));
        met.links.push_back(
            std::make_unique<Link>(std::move(member.socket), static_cast<int>(rank), member.address));
    }
    return met;
}

void Meeting::send_to_members(const std::string& bytes) noexcept {
    for (const Member& member : members_)
        if (member.socket) send_small(member.socket, bytes);
}

std::string Meeting::absent() const {
    std::vector<int> unseen;
    std::vector<int> gone;
    for (std::size_t rank = 1; rank < members_.size(); ++rank)
        if (!members_[rank].socket) (members_[rank].has_left ? gone : unseen).push_back(static_cast<int>(rank));
    const std::string list = names_of(unseen);
    const std::string rest = names_of(gone, " (came and left)");
    return list + (list.empty() || rest.empty() ? "" : ", ") + rest;
}

}  // namespace cobre::tcp
