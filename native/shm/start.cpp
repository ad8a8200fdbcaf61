// Makes a communicator: of ranks that meet, or of the ranks of another one.
#include <algorithm>
#include <cmath>

#include "shm/communicator.hpp"
#include "shm/direct_read.hpp"
#include "shm/registration.hpp"
#include "shm/segment.hpp"

namespace cobre::shm {

namespace {

// Once all have registered, each has only to wake up and say what it may do. So long it is allowed for that,
// though the last one came when the time was nearly over.
constexpr double moment_to_settle_s = 1.0;

double rounded_to_milliseconds(double seconds) { return std::round(seconds * 1000.0) / 1000.0; }

}  // namespace

Communicator::Communicator(std::shared_ptr<Mapping> segment, comm::Group group, double timeout_s,
                           const PackedCall& call, const TimeLimit& for_call, comm::Caller& caller)
    : segment_(std::move(segment)),
      team_(Layout(segment_->data()), group, for_call, lifetime_),
      timeout_s_(timeout_s),
      lanes_(static_cast<std::size_t>(group.size)),
      rows_(static_cast<std::size_t>(group.size)),
      track_(group, "shm") {
    team_.begin(call, caller);
    bool can_read_all = true;
    for (int rank = 0; rank < group.size && can_read_all; ++rank)
        can_read_all = can_read(team_.entry(rank).identity, team_.entry(rank).probe_address);
    team_.publish(call, can_read_all ? PackedCall::is_ready : 0);
    team_.agree(call);
    may_read_ = team_.all_have(PackedCall::is_ready);
    team_.waiter().set_limit(TimeLimit::of_call(timeout_s));
}

std::unique_ptr<Communicator> Communicator::start(const Meeting& meeting, double timeout_s, comm::Caller& caller) {
    std::shared_ptr<Mapping> segment = meet(meeting, caller);
    const double left_s = rounded_to_milliseconds(std::max(meeting.deadline.left_s(), moment_to_settle_s));
    try {
        return std::make_unique<Communicator>(std::move(segment), meeting.group, timeout_s,
                                              PackedCall(comm::Call::of(comm::Verb::attach)),
                                              TimeLimit::of_start(left_s), caller);
    } catch (const comm::Error& error) {
        refuse_start(error.message(), error.fix());
    }
}

// Whatever goes wrong is a failure of this communicator's call: its ranks learn it in their next one.
std::unique_ptr<Communicator> Communicator::split(const Room& room, comm::Caller& caller) {
    const PackedCall call(comm::Call::of(comm::Verb::split_local));
    const std::uint64_t bytes = Layout::bytes_for(static_cast<std::uint64_t>(group().size), team_.limits());
    std::shared_ptr<Mapping> memory =
        share_memory(call, bytes, room, "the segment of split_local()", true, caller);
    register_rank(Layout(memory->data()), group());
    finish_step(call, true);
    try {
        return std::make_unique<Communicator>(std::move(memory), group(), timeout_s_, call,
                                              TimeLimit::of_call(timeout_s_), caller);
    } catch (const comm::Error& error) {
        team_.waiter().fail({error.message(), error.fix()});
    } catch (const comm::Interrupted&) {
        team_.waiter().record(interruption(call));
        throw;
    }
}

}  // namespace cobre::shm
