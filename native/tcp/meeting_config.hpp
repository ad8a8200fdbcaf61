// What a rank is told before it meets the others, and what it has afterwards. The same for rank 0 and the workers.
#pragma once

#include <chrono>
#include <string>

#include "comm/arguments.hpp"
#include "tcp/exchange.hpp"
#include "tcp/handshake.hpp"

namespace cobre::tcp {

struct Place {
    std::string host;  // rank 0: where to listen, empty for every address; others: where rank 0 is
    int port = 0;
};

struct MeetingConfig {
    using Clock = std::chrono::steady_clock;

    // The time to meet, `timeout_s`, begins here.
    MeetingConfig(comm::Group group, Place place, std::string secret, double timeout_s, int keepalive_s);

    // Throws comm::Error of class initialization_failed.
    [[noreturn]] void fail(std::string what, std::string fix) const;

    comm::Group group;
    Place place;
    Secret secret;
    double timeout_s;
    int keepalive_s;
    Clock::time_point deadline;
};

struct MeetingResult {
    Links links;          // in rank order: all others on rank 0, only rank 0 on the others
    int local_ranks = 1;  // ranks on this machine, this one included
};

}  // namespace cobre::tcp
