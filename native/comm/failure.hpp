// What went wrong in a group, and what to do about it.
#pragma once

#include <string>

namespace cobre::comm {

struct Failure {
    std::string text;
    std::string fix;
};

}  // namespace cobre::comm
