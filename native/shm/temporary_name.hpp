// The name of a region where ranks may not look into each other. It says who made it, for the file holds nothing
// but the user's data: should all ranks be killed while it has the name, `cobre doctor` can tell that no process
// uses it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/process.hpp"

namespace cobre::shm {

// Removed once all ranks have opened the file, or have failed to.
class TemporaryName {
public:
    // The same on all ranks.
    TemporaryName(std::uint64_t nonce, std::uint64_t number, const comm::ProcessIdentity& maker);
    ~TemporaryName();
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;

    const std::string& get() const noexcept { return name_; }

private:
    std::string name_;
};

// Who made what has that name; pid 0 if it is not such a name.
comm::ProcessIdentity maker_in(const std::string& name) noexcept;

}  // namespace cobre::shm
