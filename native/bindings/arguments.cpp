// The checks and folds as functions, for backends written in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/calls.hpp"
#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
#include "comm/error.hpp"
#include "comm/fold.hpp"
#include "comm/statistics.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

using Integers = std::vector<std::int64_t>;

// A backend's own numbers, which index counts and displs: a wrong one must not read beside them.
comm::Group group_of(int rank, int size) {
    if (rank >= 0 && rank < size) return {rank, size};
    throw comm::Error(comm::ErrorClass::value_error,
                      "rank " + std::to_string(rank) + " is not one of " + std::to_string(size) + " ranks",
                      "pass the communicator's own rank and size: 0 <= rank < size");
}

Integers copy_of(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

std::pair<Integers, Integers> check_allgatherv(nb::handle send, nb::handle recv, nb::handle counts,
                                               nb::handle displs, int rank, int size) {
    const GatherCall call(send, recv, counts, displs, group_of(rank, size));
    return {copy_of(call.layout().counts), copy_of(call.layout().displs)};
}

const char* check_allreduce(nb::handle send, nb::handle recv, nb::handle op, int rank, int size) {
    return comm::name_of(ReduceCall(send, recv, op, group_of(rank, size)).op);
}

int check_broadcast(nb::handle buf, nb::handle root, int rank, int size) {
    return BroadcastCall(buf, root, group_of(rank, size)).root;
}

void fold_in_rank_order(nb::handle parts, nb::handle out, nb::handle op) {
    // A list of our own: the caller's may change, or make its items as they are asked for.
    const nb::object items = nb::steal(PySequence_List(parts.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    const int size = static_cast<int>(nb::len(items));
    if (size == 0)
        throw comm::Error(comm::ErrorClass::value_error, "there are no parts to fold", "pass one part per rank");
    const comm::Where where{"allreduce", {0, size}};
    const comm::ReduceOp parsed = reduce_op_of(op.ptr(), where);
    const BorrowedBuffer to(out.ptr(), where, "out");
    std::vector<std::unique_ptr<BorrowedBuffer>> buffers;
    std::vector<const std::byte*> rows;
    for (nb::handle part : items) {
        const comm::Group owner{static_cast<int>(rows.size()), size};
        buffers.push_back(std::make_unique<BorrowedBuffer>(part.ptr(), comm::Where{"allreduce", owner}, "part"));
        comm::check_allreduce(**buffers.back(), *to, parsed, owner);
        rows.push_back((*buffers.back())->data);
    }
    const WithoutGil released;
    comm::fold_in_rank_order(rows, static_cast<std::size_t>(to->count), to->dtype, parsed, to->data);
}

// `slab` holds one row of out's size per rank, one after the other.
void fold_slab_in_rank_order(nb::handle slab, int size, nb::handle out, nb::handle op) {
    const comm::Where where{"allreduce", {0, size}};
    const comm::ReduceOp parsed = reduce_op_of(op.ptr(), where);
    const BorrowedBuffer from(slab.ptr(), where, "slab");
    const BorrowedBuffer to(out.ptr(), where, "out");
    comm::check_allreduce(*to, *to, parsed, {0, size});
    const std::size_t row_bytes = (*to).bytes();
    if (size < 1 || (*from).bytes() / row_bytes < static_cast<std::size_t>(size))
        throw comm::Error(comm::ErrorClass::value_error, "the slab is shorter than one row per rank",
                          "pass a slab of size * out.nbytes bytes");
    std::vector<const std::byte*> rows(static_cast<std::size_t>(size));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = (*from).data + r * row_bytes;
    const auto fold = [&] {
        comm::fold_in_rank_order(rows, static_cast<std::size_t>((*to).count), (*to).dtype, parsed, (*to).data);
    };
    if (row_bytes < comm::timed_move_bytes) {
        fold();
    } else {
        const WithoutGil released;
        fold();
    }
}

// Equal exactly when two buffers count as the same dtype, on any rank.
std::string dtype_signature(nb::handle buffer) {
    const BorrowedBuffer borrowed(buffer.ptr(), {"dtype_signature", {}}, "buffer");
    const comm::DType& dtype = borrowed->dtype;
    std::string signature = comm::name_of(dtype);
    if (dtype.kind == comm::Kind::record) signature += " with layout " + std::to_string(dtype.layout);
    return signature;
}

void require_carried(nb::handle dtype) {
    if (!PyArray_DescrCheck(dtype.ptr()))
        throw comm::Error(comm::ErrorClass::type_error, "not a numpy.dtype", "pass numpy.dtype(...)");
    dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()), "create_shared_region", "the region");
}

}  // namespace

void bind_arguments(nb::module_& m) {
    m.def("check_allgatherv", &check_allgatherv, "send"_a.none(), "recv"_a.none(), "counts"_a.none(),
          "displs"_a.none(), "rank"_a, "size"_a,
          nb::sig("def check_allgatherv(send: object, recv: object, counts: object, displs: object, rank: int, "
                  "size: int) -> tuple[list[int], list[int]]"),
          "Raise what allgatherv must raise, or return counts and displs as lists of ints.");
    m.def("check_allreduce", &check_allreduce, "send"_a.none(), "recv"_a.none(), "op"_a.none(), "rank"_a, "size"_a,
          "Raise what allreduce must raise, or return the operation's name.");
    m.def("check_broadcast", &check_broadcast, "buf"_a.none(), "root"_a.none(), "rank"_a, "size"_a,
          "Raise what broadcast must raise, or return the root as an int.");
    m.def("fold_in_rank_order", &fold_in_rank_order, "parts"_a.none(), "out"_a.none(), "op"_a.none(),
          nb::sig("def fold_in_rank_order(parts: collections.abc.Sequence[object], out: object, op: str) -> None"),
          "Fold one buffer per rank, rank 0 first, into out, which may be one of them.");
    m.def("fold_slab_in_rank_order", &fold_slab_in_rank_order, "slab"_a, "size"_a, "out"_a.none(), "op"_a.none(),
          nb::sig("def fold_slab_in_rank_order(slab: object, size: int, out: object, op: str) -> None"),
          "Fold a slab that holds one row of out's size per rank, rank 0 first, into out, which overlaps it "
          "nowhere.");
    m.def("dtype_signature", &dtype_signature, "buffer"_a,
          "Text that is equal on two ranks exactly when their buffers have the same dtype.");
    m.def("require_carried", &require_carried, "dtype"_a,
          "Raise TypeError for a dtype that no collective carries.");
}

}  // namespace cobre::bindings
