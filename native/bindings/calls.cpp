#include "bindings/calls.hpp"

namespace nb = nanobind;

namespace cobre::bindings {

namespace {

constexpr const char* gather = "allgatherv";
constexpr const char* reduce = "allreduce";
constexpr const char* spread = "broadcast";

// A root beyond 64 bits is no rank, and is reported as it was given.
int root_of(nb::handle root, comm::Group group) {
    const comm::Where where{spread, group};
    const std::int64_t number = integer_of(root.ptr(), where, "root");
    if (number != INT64_MAX && number != INT64_MIN) {
        comm::check_root(number, group);
        return static_cast<int>(number);
    }
    const nb::object text = nb::str("root {} is not one of the ranks 0..{}{}")
                                .attr("format")(root, group.size - 1, where.text().c_str());
    const nb::object error = nb::module_::import_("cobre.errors").attr("InvalidRoot")(root, group.size, text);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw nb::python_error();
}

}  // namespace

GatherCall::GatherCall(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs, comm::Group group)
    : counts_(counts.ptr(), {gather, group}, "counts"),
      displs_(displs.ptr(), {gather, group}, "displs"),
      send(send.ptr(), {gather, group}, "send"),
      recv(recv.ptr(), {gather, group}, "recv") {
    comm::check_allgatherv(*this->send, *this->recv, layout(), group);
}

ReduceCall::ReduceCall(nb::handle send, nb::handle recv, nb::handle op, comm::Group group)
    : op(reduce_op_of(op.ptr(), {reduce, group})),
      send(send.ptr(), {reduce, group}, "send"),
      recv(recv.ptr(), {reduce, group}, "recv") {
    comm::check_allreduce(*this->send, *this->recv, this->op, group);
}

BroadcastCall::BroadcastCall(nb::handle buf, nb::handle root, comm::Group group)
    : root(root_of(root, group)), buf(buf.ptr(), {spread, group}, "buf") {
    comm::check_broadcast(*this->buf, this->root, group);
}

}  // namespace cobre::bindings
