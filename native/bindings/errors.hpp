// The core's errors as Python exceptions.
#pragma once

#include "comm/error.hpp"

namespace cobre::bindings {

// Sets the Python exception that stands for `error`.
void set_python_error(const comm::Error& error);

// Makes nanobind call `set_python_error` for every comm::Error that leaves a bound function.
void register_errors();

}  // namespace cobre::bindings
