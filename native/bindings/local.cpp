// `_native.comm.LocalCommunicator`: the whole hot path of the local backend.
#include "comm/local.hpp"

#include <nanobind/nanobind.h>

#include "bindings/buffers.hpp"
#include "bindings/call_lock.hpp"
#include "bindings/comm.hpp"
#include "bindings/statistics.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

class Local {
public:
    explicit Local(std::size_t release_gil_bytes) : release_gil_bytes_(release_gil_bytes) {}

    void allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
        core_.lifetime().require_usable("allgatherv");
        const BorrowedBuffer from(send.ptr(), "allgatherv", "send");
        const BorrowedBuffer to(recv.ptr(), "allgatherv", "recv");
        const IntegerList count_list(counts.ptr(), "allgatherv", "counts");
        const IntegerList displ_list(displs.ptr(), "allgatherv", "displs");
        const comm::Layout layout{count_list.values(), displ_list.values()};
        comm::check_allgatherv(*from, *to, layout, core_.group);
        run(from, [&] { core_.allgatherv(*from, *to, layout); });
    }

    void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        core_.lifetime().require_usable("allreduce");
        const BorrowedBuffer from(send.ptr(), "allreduce", "send");
        const BorrowedBuffer to(recv.ptr(), "allreduce", "recv");
        comm::check_allreduce(*from, *to, reduce_op_of(op.ptr()), core_.group);
        run(from, [&] { core_.allreduce(*from, *to); });
    }

    void broadcast(nb::handle buf, nb::handle root) {
        core_.lifetime().require_usable("broadcast");
        const BorrowedBuffer buffer(buf.ptr(), "broadcast", "buf");
        check_broadcast_root(buffer, root, core_.group);
        const CallLock lock(calls_);
        core_.broadcast(*buffer);
    }

    void barrier() {
        core_.lifetime().require_usable("barrier");
        const CallLock lock(calls_);
        core_.barrier();
    }

    void require_usable(const char* operation) { core_.lifetime().require_usable(operation); }
    void close() { core_.lifetime().close(); }

    nb::dict stats() {
        const CallLock lock(calls_);
        return as_dict(core_.statistics());
    }

private:
    // A copy long enough to notice lets other Python threads run meanwhile.
    template <class Move>
    void run(const BorrowedBuffer& payload, Move move) {
        const CallLock lock(calls_);
        if ((*payload).bytes() < release_gil_bytes_) {
            move();
        } else {
            const nb::gil_scoped_release released;
            move();
        }
    }

    comm::LocalCommunicator core_;
    std::mutex calls_;
    std::size_t release_gil_bytes_;
};

}  // namespace

void bind_local(nb::module_& m) {
    nb::class_<Local>(m, "LocalCommunicator", "Collectives of the one rank there is.")
        .def(nb::init<std::size_t>(), "release_gil_bytes"_a)
        .def_prop_ro("rank", [](const Local&) { return 0; })
        .def_prop_ro("size", [](const Local&) { return 1; })
        .def("allgatherv", &Local::allgatherv, "send"_a.none(), "recv"_a.none(), "counts"_a.none(),
             "displs"_a.none())
        .def("allreduce", &Local::allreduce, "send"_a.none(), "recv"_a.none(), "op"_a.none())
        .def("broadcast", &Local::broadcast, "buf"_a.none(), "root"_a.none())
        .def("barrier", &Local::barrier)
        .def("stats", &Local::stats, nb::sig("def stats(self) -> dict[str, dict[str, float]]"))
        .def("close", &Local::close)
        .def("require_usable", &Local::require_usable, "operation"_a,
             "Raise InvalidCommunicator after close() and in a forked child.");
}

}  // namespace cobre::bindings
