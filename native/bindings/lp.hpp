#pragma once

#include <nanobind/nanobind.h>

namespace cobre::bindings {

void bind_lp(nanobind::module_& m);
void bind_lp_paths(nanobind::module_& m);
void bind_linearise(nanobind::module_& m);

}  // namespace cobre::bindings
