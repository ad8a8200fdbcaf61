#pragma once

#include <nanobind/nanobind.h>

#include "comm/statistics.hpp"

namespace cobre::bindings {

// {"allgatherv": {"calls": …, "bytes": …, "wait_s": …, "move_s": …}, …}
nanobind::dict as_dict(const comm::Statistics& statistics);

}  // namespace cobre::bindings
