// How a worker finds rank 0: at all addresses of its name side by side (RFC 8305), until the first of them proves
// that it has the secret.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/caller.hpp"
#include "tcp/attempt.hpp"
#include "tcp/meeting_config.hpp"
#include "tcp/resolver.hpp"

namespace cobre::tcp {

class Joining {
public:
    // `config` and `caller` outlive it.
    Joining(const MeetingConfig& config, comm::Caller& caller);

    // Returns when the group is complete. Throws comm::Error of class initialization_failed, or `Interrupted`.
    MeetingResult run();

private:
    using Clock = MeetingConfig::Clock;
    using State = Attempt::State;

    // One address that the name stands for, and the attempts to join there, one after the other.
    struct Address {
        Endpoint endpoint;
        std::string text;                // of the endpoint
        bool is_listed = true;           // the name stood for it when it was looked up last
        bool has_started = false;        // its first attempt
        std::optional<Attempt> attempt;  // under way
        Clock::time_point since;         // when that began
        Clock::time_point next;          // when the next one may begin
        std::chrono::milliseconds pause{0};
        Clock::time_point ended;       // when the last one did
        std::optional<State> outcome;  // how
        comm::Failure failure;         // of that one

        bool ended_as(State state) const noexcept { return outcome == state; }
    };

    Clock::time_point end() const noexcept;
    void look_up(Clock::time_point now);
    void list(const std::vector<Endpoint>& endpoints);
    void start_due(Clock::time_point now);
    void sleep();
    Clock::time_point next_event() const noexcept;
    void serve(std::size_t place);
    void choose(std::size_t place);
    void conclude(Address& address, Clock::time_point now);
    void judge(Clock::time_point now);

    [[noreturn]] void fail_for(const Address& address) const;
    [[noreturn]] void fail_everywhere() const;
    [[noreturn]] void fail_at_the_deadline();
    void note_unfinished();
    void warn_of_refusal();
    std::string reasons() const;

    const MeetingConfig& config_;
    comm::Caller& caller_;
    Introduction introduction_;
    std::optional<Lookup> lookup_;  // under way
    Clock::time_point next_lookup_;
    std::chrono::milliseconds lookup_pause_{0};
    std::string lookup_trouble_;  // of the last one
    std::vector<Address> addresses_;
    Clock::time_point next_start_;       // when the next address has its first attempt
    std::optional<std::size_t> chosen_;  // the address whose rank 0 has proved the secret
    std::optional<Clock::time_point> refused_since_;
    bool has_been_refused_ = false;
    bool has_warned_ = false;
    std::vector<pollfd> polled_;
};

}  // namespace cobre::tcp
