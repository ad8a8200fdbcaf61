// What the files of these bindings share.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/buffers.hpp"

namespace cobre::bindings {

// Reads `root`, checks the call, returns the root. A root beyond 64 bits is reported as it was given.
int check_broadcast_root(const BorrowedBuffer& buffer, nanobind::handle root, comm::Group group);

void bind_arguments(nanobind::module_& m);
void bind_foreign_transport(nanobind::module_& m);
void bind_local(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_shm(nanobind::module_& m);
void bind_tcp(nanobind::module_& m);

}  // namespace cobre::bindings
