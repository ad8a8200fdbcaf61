// How ranks register in a segment, and find out which ranks have not.
#pragma once

#include <string>

#include "comm/arguments.hpp"
#include "comm/deadline.hpp"
#include "shm/failure.hpp"
#include "shm/layout.hpp"
#include "shm/waiter.hpp"

namespace cobre::shm {

// Throws comm::Error (InitializationFailed).
[[noreturn]] void refuse_start(std::string text, std::string fix);
// The same, written down for all ranks; throws what was written first.
[[noreturn]] void refuse_for_all(Header& header, const comm::Failure& failure);

std::string quoted(const std::string& segment);
std::string process_text(const comm::ProcessIdentity& identity);

// Claims the rank's entry. A second process with the same rank is refused, and the whole group with it: one of the
// two is misconfigured.
void register_rank(const Layout& layout, comm::Group group);

// Returns once all ranks of the segment of that name have registered. Any failure is written down for them.
void await_all(const Layout& layout, const std::string& name, comm::Group group, const comm::Deadline& deadline,
               comm::Caller& caller);

}  // namespace cobre::shm
