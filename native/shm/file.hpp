// Files in /dev/shm: made without a name and with all pages, named for a moment, removed with the last mapping.
#pragma once

#include <cstdint>
#include <string>

#include "shm/resource.hpp"
#include "shm/waiter.hpp"

namespace cobre::shm {

// What the machine and its control group still allow, and what sets that limit, as text.
struct Room {
    std::uint64_t bytes = UINT64_MAX;
    std::string limited_by;
};

// 1234567 as "1,234,567"
std::string grouped(std::uint64_t number);

// Whether an errno means that this process or the machine has too many files open.
bool is_lack_of_descriptors(int error) noexcept;

// An unnamed file whose pages all exist, spread over the NUMA nodes when there are several. `purpose` begins the
// sentence of the error ("a region"). Throws comm::Error (AllocationFailed) when there is no room, Interrupted
// when the caller asks for it. It has no name yet, so that a crash does not leave it and no process sees it half
// made.
comm::Descriptor create_reserved_file(std::uint64_t bytes, const Room& room, const char* purpose,
                                      comm::Caller& caller);

// Gives the file its name; 0 or an errno (EEXIST if it is taken). `name` begins with '/'.
int link_file(const comm::Descriptor& file, const std::string& name) noexcept;

// Opens the file of that name; without one, errno says why.
comm::Descriptor open_file(const std::string& name) noexcept;

// Opens what another process of this user has open under that number.
comm::Descriptor open_file_of(std::int64_t pid, int number) noexcept;

// Keeps a lock on the file while it is open here, or in a child forked meanwhile.
void hold(const comm::Descriptor& file) noexcept;
// Whether another process does; true also where that cannot be found out.
bool is_held(const comm::Descriptor& file) noexcept;

// Takes the name away if it still belongs to this file.
void unlink_file(const comm::Descriptor& file, const std::string& name) noexcept;

// Takes a name away that is this group's own, whatever it belongs to.
void unlink_name(const std::string& name) noexcept;

bool is_named(const comm::Descriptor& file, const std::string& name) noexcept;

}  // namespace cobre::shm
