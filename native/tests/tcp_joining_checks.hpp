// How workers find rank 0 at the addresses of a name, and what both say when they do not.
#pragma once

#include "report.hpp"

namespace cobre::tests {

void check_joining(Report& report);

}  // namespace cobre::tests
