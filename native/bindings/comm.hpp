// What the module is put together from, a function per file.
#pragma once

#include <nanobind/nanobind.h>

namespace cobre::bindings {

void bind_arguments(nanobind::module_& m);
void bind_foreign_transport(nanobind::module_& m);
void bind_local(nanobind::module_& m);
void bind_process_end(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_shm(nanobind::module_& m);
void bind_tcp(nanobind::module_& m);

void bind_fitting(nanobind::module_& m);
void bind_noise(nanobind::module_& m);
void bind_output(nanobind::module_& m);

}  // namespace cobre::bindings
