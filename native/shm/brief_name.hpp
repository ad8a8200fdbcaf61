// The name of a region where ranks may not look into each other. It says who made it, for the file holds nothing
// but the user's data: should all ranks be killed while it has the name, `cobre doctor` knows that it is nobody's.
#pragma once

#include <cstdint>
#include <string>

#include "shm/identity.hpp"

namespace cobre::shm {

// Lives only until all ranks have opened it, however that ends.
class BriefName {
public:
    // The same on all ranks.
    BriefName(std::uint64_t nonce, std::uint64_t number, const Identity& maker);
    ~BriefName();
    BriefName(const BriefName&) = delete;
    BriefName& operator=(const BriefName&) = delete;

    const std::string& get() const noexcept { return name_; }

private:
    std::string name_;
};

// Who made what has that name; pid 0 if it is not such a name.
Identity maker_in(const std::string& name) noexcept;

}  // namespace cobre::shm
