// The arguments of one collective, read from Python and checked; what every native backend begins with.
//
// Numbers and names are read before the buffers: reading them may run the caller's code (__index__), and
// that code may resize the arrays whose memory is borrowed next.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/buffers.hpp"

namespace cobre::bindings {

class GatherCall {
public:
    GatherCall(nanobind::handle send, nanobind::handle recv, nanobind::handle counts, nanobind::handle displs,
               comm::Group group);

    comm::Layout layout() const noexcept { return {counts_.values(), displs_.values()}; }

private:
    IntegerList counts_;
    IntegerList displs_;

public:
    const BorrowedBuffer send;
    const BorrowedBuffer recv;
};

struct ReduceCall {
    ReduceCall(nanobind::handle send, nanobind::handle recv, nanobind::handle op, comm::Group group);

    const comm::ReduceOp op;
    const BorrowedBuffer send;
    const BorrowedBuffer recv;
};

struct BroadcastCall {
    BroadcastCall(nanobind::handle buf, nanobind::handle root, comm::Group group);

    const int root;
    const BorrowedBuffer buf;
};

}  // namespace cobre::bindings
