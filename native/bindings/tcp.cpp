// `_native.comm.TcpCommunicator`: the whole hot path of the tcp backend, and its start-up.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/calls.hpp"
#include "bindings/calls_under_way.hpp"
#include "bindings/comm.hpp"
#include "bindings/fast_calls.hpp"
#include "bindings/gil.hpp"
#include "bindings/statistics.hpp"
#include "tcp/communicator.hpp"
#include "tcp/joining.hpp"
#include "tcp/meeting.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

// Runs Python's signal handlers from inside a wait; what they raise is found by `Tcp::without_gil`.
class PythonCaller final : public comm::Caller {
public:
    bool is_interrupted() override {
        const WithGil held;
        return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
    }

    // Called as log(level, text), with the numbers of Python's logging; None for nowhere.
    void log_with(nb::object function) { function_ = std::move(function); }
    // What the function raises, as a signal handler may while it runs, ends the wait like any other signal.
    void log(comm::Level level, const std::string& text) override {
        const WithGil held;
        if (function_.is_none() || PyErr_Occurred() != nullptr) return;
        const int number = level == comm::Level::warning ? 30 : 20;
        Py_XDECREF(PyObject_CallFunction(function_.ptr(), "is", number, text.c_str()));
    }

private:
    nb::object function_ = nb::none();
};

class Tcp {
public:
    Tcp(int rank, int size, double timeout_s, std::size_t piece_bytes, std::size_t window_bytes, int keepalive_s)
        : core_({rank, size}, timeout_s, {piece_bytes, window_bytes, keepalive_s}), keepalive_s_(keepalive_s) {}

    int listen(std::string host, int port, const nb::bytes& secret, double timeout_s) {
        meeting_.emplace(config(std::move(host), port, secret, timeout_s), caller_);
        return without_gil([&] { return meeting_->listen(); });
    }
    std::vector<std::string> listening_at() const {
        return meeting_ ? meeting_->listening_at() : std::vector<std::string>();
    }
    void gather(nb::object log) {
        const Logging logging(caller_, std::move(log));
        without_gil([&] { core_.start(meeting_->gather()); });
        if (PyErr_Occurred() != nullptr) throw nb::python_error();  // of the last line logged
    }
    void end_meeting() { meeting_.reset(); }
    void join(std::string host, int port, const nb::bytes& secret, double timeout_s, nb::object log) {
        const Logging logging(caller_, std::move(log));
        const tcp::MeetingConfig where = config(std::move(host), port, secret, timeout_s);
        without_gil([&] { core_.start(tcp::Joining(where, caller_).run()); });
    }

    void allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
        core_.lifetime().require_usable("allgatherv");
        const GatherCall call(send, recv, counts, displs, core_.group());
        without_gil([&] { core_.allgatherv(*call.send, *call.recv, call.layout(), caller_); });
    }

    void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        core_.lifetime().require_usable("allreduce");
        const ReduceCall call(send, recv, op, core_.group());
        without_gil([&] { core_.allreduce(*call.send, *call.recv, call.op, caller_); });
    }

    void broadcast(nb::handle buf, nb::handle root) {
        core_.lifetime().require_usable("broadcast");
        const BroadcastCall call(buf, root, core_.group());
        without_gil([&] { core_.broadcast(*call.buf, call.root, caller_); });
    }

    void barrier() {
        core_.lifetime().require_usable("barrier");
        without_gil([&] { core_.barrier(caller_); });
    }

    void split() {
        core_.lifetime().require_usable("split_local");
        without_gil([&] { core_.split_local(caller_); });
    }

    int agree_on_region(std::uint64_t count, nb::handle dtype, bool can) {
        core_.lifetime().require_usable("create_shared_region");
        if (!PyArray_DescrCheck(dtype.ptr())) throw nb::type_error("not a numpy.dtype");
        const comm::DType parsed =
            dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()), "create_shared_region", "the region");
        return without_gil([&] { return core_.agree_on_region(count, parsed, can, caller_); });
    }

    int rank() const { return core_.group().rank; }
    int size() const { return core_.group().size; }
    void require_usable(const char* operation) { core_.lifetime().require_usable(operation); }
    void close() { core_.close(); }
    nb::dict stats() {
        core_.lifetime().require_same_process("stats");
        return as_dict(core_.statistics());
    }

private:
    // Holds the function no longer than the call that was given it.
    class Logging {
    public:
        Logging(PythonCaller& caller, nb::object function) : caller_(caller) {
            caller_.log_with(std::move(function));
        }
        ~Logging() { caller_.log_with(nb::none()); }
        Logging(const Logging&) = delete;
        Logging& operator=(const Logging&) = delete;

    private:
        PythonCaller& caller_;
    };

    tcp::MeetingConfig config(std::string host, int port, const nb::bytes& secret, double timeout_s) const {
        return {core_.group(), tcp::Place{std::move(host), port}, std::string(secret.c_str(), secret.size()),
                timeout_s, keepalive_s_};
    }

    template <class Work>
    static auto without_gil(Work work) -> decltype(work()) {
        const CallUnderWay under_way;
        try {
            const WithoutGil released;
            return work();
        } catch (const comm::Interrupted&) {
            throw nb::python_error();  // takes over what the signal handler raised
        }
    }

    PythonCaller caller_;
    tcp::Communicator core_;
    int keepalive_s_;
    std::optional<tcp::Meeting> meeting_;
};

}  // namespace

void bind_tcp(nb::module_& m) {
    nb::class_<Tcp>(m, "TcpCommunicator", nb::type_slots(FastCalls<Tcp>::slots()),
                    "Collectives over a star of TCP connections around rank 0.")
        .def(nb::init<int, int, double, std::size_t, std::size_t, int>(), "rank"_a, "size"_a, "timeout"_a,
             "piece_bytes"_a, "window_bytes"_a, "keepalive_s"_a)
        .def("listen", &Tcp::listen, "host"_a, "port"_a, "secret"_a, "timeout"_a,
             "Rank 0: begin to listen, at every address if host is empty; returns the port.")
        .def_prop_ro("listening_at", &Tcp::listening_at,
                     "Rank 0: addresses it listens at; empty when all are there.")
        .def("gather", &Tcp::gather, "log"_a.none(),
             "Rank 0: wait until all have joined. log(level, text) gets joined ranks and refused connections.")
        .def("join", &Tcp::join, "host"_a, "port"_a, "secret"_a, "timeout"_a, "log"_a.none(),
             "Other ranks: find rank 0. log(level, text) gets refusals after which the search continues.")
        .def("end_meeting", &Tcp::end_meeting, "Rank 0: listen no more. Does nothing when all are there.")
        .def_prop_ro("rank", &Tcp::rank, docs::rank)
        .def_prop_ro("size", &Tcp::size, docs::size)
        .def("split", &Tcp::split, "Wait until all ranks split.")
        .def("agree_on_region", &Tcp::agree_on_region, "count"_a, "dtype"_a, "can"_a,
             "The lowest rank that cannot have a region of so many elements, or -1.")
        .def("require_usable", &Tcp::require_usable, "operation"_a,
             "Raise InvalidCommunicator after close() and in a forked child.");
}

}  // namespace cobre::bindings
