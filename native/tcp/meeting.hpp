// How rank 0 waits for the other ranks, and refuses other programs meanwhile.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "comm/caller.hpp"
#include "tcp/dropped.hpp"
#include "tcp/meeting_config.hpp"
#include "tcp/socket.hpp"

namespace cobre::tcp {

class Meeting {
public:
    Meeting(MeetingConfig config, comm::Caller& caller)
        : config_(std::move(config)), caller_(caller), dropped_(caller) {}

    // First: listens. Returns the port, which is the kernel's choice if 0 was asked for.
    int listen();
    // Returns when all are there. Throws comm::Error of class initialization_failed, or `Interrupted`.
    MeetingResult gather();

    // Until all are there: its addresses, "127.0.0.1:29500".
    std::vector<std::string> listening_at() const;

private:
    using Clock = MeetingConfig::Clock;

    struct Candidate {
        comm::Descriptor socket;
        std::string address;
        std::uint64_t source;
        Clock::time_point deadline;
        HubHandshake handshake;
    };
    struct Member {
        comm::Descriptor socket;
        std::string address;
        std::uint64_t host = 0;
        bool has_left = false;  // the previous process of this rank
    };

    bool open_listeners(std::vector<Endpoint> endpoints, bool may_choose_again);
    void accept_connections(const comm::Descriptor& listener);
    void make_room(const std::string& reason);
    bool serve(Candidate& candidate);
    std::optional<std::string> reason_to_refuse(const Introduction& who);
    void drop_overdue();
    void free_lost_members();
    void free_if_lost(std::size_t rank);
    bool is_complete() const;
    [[noreturn]] void fail_incomplete();
    MeetingResult acknowledge_all();
    void send_to_members(const std::string& bytes) noexcept;
    std::string absent() const;

    MeetingConfig config_;
    comm::Caller& caller_;
    Dropped dropped_;
    std::vector<comm::Descriptor> listeners_;
    std::vector<Candidate> candidates_;
    std::minstd_rand chance_{std::random_device{}()};
    std::vector<Member> members_;  // by rank
    bool has_lacked_descriptors_ = false;
};

}  // namespace cobre::tcp
