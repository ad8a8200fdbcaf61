// `_native.comm.LocalCommunicator`: the whole hot path of the local backend.
#include "comm/local.hpp"

#include <nanobind/nanobind.h>

#include "bindings/call_lock.hpp"
#include "bindings/calls.hpp"
#include "bindings/comm.hpp"
#include "bindings/fast_calls.hpp"
#include "bindings/gil.hpp"
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
        const GatherCall call(send, recv, counts, displs, core_.group);
        run(call.send->bytes(), [&] { core_.allgatherv(*call.send, *call.recv, call.layout()); });
    }

    void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        core_.lifetime().require_usable("allreduce");
        const ReduceCall call(send, recv, op, core_.group);
        run(call.send->bytes(), [&] { core_.allreduce(*call.send, *call.recv); });
    }

    void broadcast(nb::handle buf, nb::handle root) {
        core_.lifetime().require_usable("broadcast");
        const BroadcastCall call(buf, root, core_.group);
        const CallLock lock(calls_);
        core_.broadcast(*call.buf);
    }

    void barrier() {
        core_.lifetime().require_usable("barrier");
        const CallLock lock(calls_);
        core_.barrier();
    }

    void require_usable(const char* operation) { core_.lifetime().require_usable(operation); }
    void close() { core_.lifetime().close(); }

    nb::dict stats() {
        core_.lifetime().require_same_process("stats");
        return as_dict(core_.statistics());
    }

private:
    // A copy long enough to notice lets other Python threads run meanwhile.
    template <class Move>
    void run(std::size_t bytes, Move move) {
        const CallLock lock(calls_);
        if (bytes < release_gil_bytes_) {
            move();
        } else {
            const WithoutGil released;
            move();
        }
    }

    comm::LocalCommunicator core_;
    CallQueue calls_;
    std::size_t release_gil_bytes_;
};

}  // namespace

void bind_local(nb::module_& m) {
    nb::class_<Local>(m, "LocalCommunicator", nb::type_slots(FastCalls<Local>::slots()),
                      "Collectives of the one rank there is.")
        .def(nb::init<std::size_t>(), "release_gil_bytes"_a)
        .def_prop_ro(
            "rank", [](const Local&) { return 0; }, docs::rank)
        .def_prop_ro(
            "size", [](const Local&) { return 1; }, docs::size)
        .def("require_usable", &Local::require_usable, "operation"_a,
             "Raise InvalidCommunicator after close() and in a forked child.");
}

}  // namespace cobre::bindings
