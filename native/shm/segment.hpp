// How the ranks of one machine find each other: rank 0 makes the segment, the others wait for it, and once all
// have registered its name is gone.
#pragma once

#include <memory>
#include <string>

#include "comm/arguments.hpp"
#include "comm/deadline.hpp"
#include "shm/file.hpp"
#include "shm/layout.hpp"
#include "shm/resource.hpp"
#include "shm/waiter.hpp"

namespace cobre::shm {

struct Meeting {
    std::string name;  // begins with '/'
    comm::Group group;
    comm::Deadline deadline;
    Limits limits;  // rank 0's hold
    Room room;
};

// The segment with every rank registered in it. Throws comm::Error: InitializationFailed, or AllocationFailed when
// there is no room for it. A group of one gets private memory and never has a name.
std::shared_ptr<Mapping> meet(const Meeting& meeting, comm::Caller& caller);

// An initialised segment in memory of this process alone.
std::shared_ptr<Mapping> make_private_segment(int size, const Limits& limits);

// Who made the segment or region of that name, which still has it. Throws InitializationFailed for a file that is
// none of ours.
struct Creator {
    std::int64_t pid = 0;
    bool is_alive = false;
};
Creator creator_of(const std::string& name);

// Takes the name away from a segment or region whose creator is dead; whether it did.
bool reclaim_orphan(const std::string& name);

// Limits that the algorithms can work with, whatever was asked for, and that so many ranks find room for.
Limits sane(Limits limits, int size) noexcept;

// Random, for names that cannot be guessed and were not used before.
std::uint64_t fresh_nonce();

}  // namespace cobre::shm
