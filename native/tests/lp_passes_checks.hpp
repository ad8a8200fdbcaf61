// Passes of several stages with threads: bits, failures and interruptions, and nothing that two threads write at
// once.
#pragma once

#include "report.hpp"

namespace cobre::tests {

void check_passes(Report& report);

}  // namespace cobre::tests
