#include "tcp/meeting_config.hpp"

#include <algorithm>

#include "comm/error.hpp"

namespace cobre::tcp {

namespace {

// "For ever", in years that the clock can count.
constexpr double longest_timeout_s = 1e9;

}  // namespace

MeetingConfig::MeetingConfig(comm::Group group_, Place place_, std::string secret_, double timeout_s_,
                             int keepalive_s_)
    : group(group_),
      place(std::move(place_)),
      secret(std::move(secret_)),
      timeout_s(timeout_s_),
      keepalive_s(keepalive_s_),
      deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(std::min(timeout_s_, longest_timeout_s)))) {}

void MeetingConfig::fail(std::string what, std::string fix) const {
    throw comm::Error(
        comm::ErrorClass::initialization_failed, "tcp", 0, 0,
        "rank " + std::to_string(group.rank) + " of " + std::to_string(group.size) + ": " + std::move(what),
        std::move(fix));
}

}  // namespace cobre::tcp
