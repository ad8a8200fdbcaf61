// The checks and folds as functions, for backends written in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/comm.hpp"
#include "comm/error.hpp"
#include "comm/fold.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

using Integers = std::vector<std::int64_t>;

Integers copy_of(const IntegerList& list) { return {list.values().begin(), list.values().end()}; }

std::pair<Integers, Integers> check_allgatherv(nb::handle send, nb::handle recv, nb::handle counts,
                                               nb::handle displs, int rank, int size) {
    const BorrowedBuffer from(send.ptr(), "allgatherv", "send");
    const BorrowedBuffer to(recv.ptr(), "allgatherv", "recv");
    const IntegerList count_list(counts.ptr(), "allgatherv", "counts");
    const IntegerList displ_list(displs.ptr(), "allgatherv", "displs");
    comm::check_allgatherv(*from, *to, {count_list.values(), displ_list.values()}, {rank, size});
    return {copy_of(count_list), copy_of(displ_list)};
}

const char* check_allreduce(nb::handle send, nb::handle recv, nb::handle op, int rank, int size) {
    const BorrowedBuffer from(send.ptr(), "allreduce", "send");
    const BorrowedBuffer to(recv.ptr(), "allreduce", "recv");
    const comm::ReduceOp parsed = reduce_op_of(op.ptr());
    comm::check_allreduce(*from, *to, parsed, {rank, size});
    switch (parsed) {
        case comm::ReduceOp::sum: return "sum";
        case comm::ReduceOp::min: return "min";
        case comm::ReduceOp::max: break;
    }
    return "max";
}

int check_broadcast(nb::handle buf, nb::handle root, int rank, int size) {
    const BorrowedBuffer buffer(buf.ptr(), "broadcast", "buf");
    return check_broadcast_root(buffer, root, {rank, size});
}

void fold_in_rank_order(nb::sequence parts, nb::handle out, nb::handle op) {
    const comm::ReduceOp parsed = reduce_op_of(op.ptr());
    const BorrowedBuffer to(out.ptr(), "allreduce", "out");
    std::vector<std::unique_ptr<BorrowedBuffer>> buffers;
    std::vector<const std::byte*> rows;
    for (nb::handle part : parts) {
        buffers.push_back(std::make_unique<BorrowedBuffer>(part.ptr(), "allreduce", "part"));
        const int rank = static_cast<int>(rows.size());
        comm::check_allreduce(**buffers.back(), *to, parsed, {rank, static_cast<int>(nb::len(parts))});
        rows.push_back((**buffers.back()).data);
    }
    if (rows.empty())
        throw comm::Error(comm::ErrorClass::value_error, "there are no parts to fold", "pass one part per rank");
    const nb::gil_scoped_release released;
    comm::fold_in_rank_order(rows, static_cast<std::size_t>((*to).count), (*to).dtype, parsed, (*to).data);
}

// Equal exactly when two buffers count as the same dtype, on any rank.
std::string dtype_signature(nb::handle buffer) {
    const BorrowedBuffer borrowed(buffer.ptr(), "dtype_signature", "buffer");
    const comm::DType& dtype = (*borrowed).dtype;
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

int check_broadcast_root(const BorrowedBuffer& buffer, nb::handle root, comm::Group group) {
    const std::int64_t number = integer_of(root.ptr(), "broadcast", "root");
    if (number == INT64_MAX || number == INT64_MIN) {
        const nb::object error = nb::module_::import_("cobre.errors").attr("InvalidRoot")(root, group.size);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
        throw nb::python_error();
    }
    comm::check_broadcast(*buffer, number, group);
    return static_cast<int>(number);
}

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
    m.def("fold_in_rank_order", &fold_in_rank_order, "parts"_a, "out"_a.none(), "op"_a.none(),
          nb::sig("def fold_in_rank_order(parts: collections.abc.Sequence[object], out: object, op: str) -> None"),
          "Fold one buffer per rank, rank 0 first, into out, which may be one of them.");
    m.def("dtype_signature", &dtype_signature, "buffer"_a,
          "Text that is equal on two ranks exactly when their buffers have the same dtype.");
    m.def("require_carried", &require_carried, "dtype"_a,
          "Raise TypeError for a dtype that no collective carries.");
}

}  // namespace cobre::bindings
