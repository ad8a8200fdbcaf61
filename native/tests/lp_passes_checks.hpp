// Passes of several stages with threads: their bits and failures, and a caller that looks at signals meanwhile.
#pragma once

#include "report.hpp"

namespace cobre::tests {

void check_passes(Report& report);

}  // namespace cobre::tests
