// How the ranks find each other, and how strangers are kept out while they do.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "comm/arguments.hpp"
#include "tcp/caller.hpp"
#include "tcp/exchange.hpp"
#include "tcp/handshake.hpp"
#include "tcp/socket.hpp"

namespace cobre::tcp {

struct Place {
    std::string host;  // rank 0: where to listen, empty for every address; others: where rank 0 is
    int port = 0;
};

// Connections that were turned away; the first ones by name.
class Visitors {
public:
    struct Visitor {
        std::string address;
        std::string reason;
    };
    void add(std::string address, std::string reason) {
        if (named_.size() < most_named) named_.push_back({std::move(address), std::move(reason)});
        else ++unnamed_;
    }
    const std::vector<Visitor>& named() const noexcept { return named_; }
    std::size_t unnamed() const noexcept { return unnamed_; }

private:
    static constexpr std::size_t most_named = 200;  // a flood must not fill memory or the log
    std::vector<Visitor> named_;
    std::size_t unnamed_ = 0;
};

struct Met {
    Links links;         // in rank order: all others on rank 0, only rank 0 on the others
    int neighbours = 1;  // ranks on this machine, this one included
};

class Meeting {
public:
    Meeting(comm::Group group, Place place, std::string secret, double timeout_s, int keepalive_s, Caller& caller);

    // Rank 0, first: listens. Returns the port, which is the kernel's choice if 0 was asked for.
    int listen();
    // Returns when all are there. Throws comm::Error of class initialization_failed, or `Interrupted`.
    Met gather();
    // The other ranks.
    Met join();

    // Rank 0, until all are there: its addresses, "127.0.0.1:29500".
    std::vector<std::string> listening_at() const;
    const Visitors& visitors() const noexcept { return visitors_; }

private:
    using Clock = std::chrono::steady_clock;

    struct Candidate {
        Descriptor socket;
        std::string address;
        std::uint64_t source;
        Clock::time_point deadline;
        Doorkeeper door;
    };
    struct Seat {
        Descriptor socket;
        std::string address;
        std::uint64_t host = 0;
        bool has_left = false;  // who sat here last
    };
    enum class Attempt : std::uint8_t { joined, failed, nobody, misled, refused };
    // How many of a name's addresses answered how.
    struct Round {
        std::size_t open = 0;  // an attempt failed, and another may succeed
        std::size_t vacant = 0;
        std::size_t strangers = 0;
        std::size_t refusals = 0;
    };
    struct Trouble {
        std::string address;
        std::string reason;
    };

    bool open_listeners(std::vector<Endpoint> endpoints, bool may_choose_again);
    void admit_newcomers(const Descriptor& listener);
    void make_room(std::string reason);
    bool hear(Candidate& candidate);
    void dismiss_overdue();
    void look_after_seats();
    Met welcome();
    void send_to_seated(const std::string& bytes) noexcept;
    std::string absent() const;
    bool join_at_any(const std::vector<Endpoint>& endpoints, Met& met);
    bool is_over(const Round& round);
    Attempt apply(const Endpoint& endpoint, Clock::time_point until, bool is_only, Met& met);
    void note_trouble(const std::string& address, std::string reason, bool is_hasty);
    std::string troubles() const;
    void wait_for(int fd, short events, Clock::time_point until);
    void pause(std::chrono::milliseconds time) { wait_for(-1, 0, Clock::now() + time); }
    [[noreturn]] void fail(std::string what, std::string fix) const;

    comm::Group group_;
    Place place_;
    Secret secret_;
    double timeout_s_;
    int keepalive_s_;
    Clock::time_point deadline_;
    Caller& caller_;
    Visitors visitors_;
    std::vector<Descriptor> listeners_;
    std::vector<Candidate> candidates_;
    std::minstd_rand chance_{std::random_device{}()};
    std::vector<Seat> seats_;  // by rank, on rank 0
    bool has_lacked_descriptors_ = false;
    std::vector<Trouble> troubles_;  // of the addresses that a worker tried, in that order
    std::string lookup_trouble_;
    bool has_been_refused_ = false;
    std::optional<Clock::time_point> refused_since_;
};

}  // namespace cobre::tcp
