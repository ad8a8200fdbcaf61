// `_native.comm.ForeignTransport`: a communicator whose bytes are moved by callables that a Python library brings.
//
// The core keeps what every backend shares: lifetime, checks, the order of calls, folds and statistics. A
// call in the common case is one crossing into here and one out to the library; all else goes to the subclass.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bindings/call_lock.hpp"
#include "bindings/calls.hpp"
#include "bindings/comm.hpp"
#include "bindings/fast_calls.hpp"
#include "bindings/statistics.hpp"
#include "comm/call.hpp"
#include "comm/error.hpp"
#include "comm/fold.hpp"
#include "comm/lifetime.hpp"
#include "comm/statistics.hpp"
#include "comm/trace.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

nb::object as_list(std::span<const std::int64_t> values) {
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(values.size())));
    if (!list.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < values.size(); ++i)
        PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
    return list;
}

template <class... Items>
nb::object pack(const Items&... items) {
    nb::object tuple = nb::steal(PyTuple_Pack(sizeof...(items), items.ptr()...));
    if (!tuple.is_valid()) throw nb::python_error();
    return tuple;
}

nb::object as_int(std::int64_t value) { return nb::steal(PyLong_FromLongLong(value)); }

// What the subclass hands over: the library's calls, and its own for everything out of the ordinary.
struct Calls {
    nb::object allgatherv, allgather, bcast, barrier;  // of the library
    nb::object in_place;                               // its mark for "send is already in recv"
    nb::dict types;                                    // bytes per element -> its element type
    nb::object error;                                  // its exception class
    nb::object slab;                                   // scratch for small reductions, with slab_bytes
    nb::object before, on_error, on_interrupt;  // of the subclass: ahead of each call, or None; after an error of
                                                // the library; after any other exception in the middle of a call
    nb::object long_allgatherv, long_allreduce, long_broadcast;
};

class ForeignTransport {
public:
    ForeignTransport(int rank, int size) : group_{rank, size}, track_(group_, "mpi") {}

    // Called once, by the subclass, when all that `calls` needs exists.
    void attach(const nb::dict& calls, std::int64_t largest_bytes, std::size_t slab_bytes,
                unsigned long only_thread, bool is_serialised) {
        calls_ = Calls{calls["allgatherv"],     calls["allgather"],     calls["bcast"],
                       calls["barrier"],        calls["in_place"],      nb::borrow<nb::dict>(calls["types"]),
                       calls["error"],          calls["slab"],          calls["before"],
                       calls["on_error"],       calls["on_interrupt"],  calls["long_allgatherv"],
                       calls["long_allreduce"], calls["long_broadcast"]};
        largest_bytes_ = largest_bytes;
        slab_bytes_ = slab_bytes;
        only_thread_ = only_thread;
        is_serialised_ = is_serialised;
    }

    // Lets go of the subclass and the library, which hold on to each other through here.
    void detach() { calls_ = Calls{}; }

    void set_before(nb::object before) { calls_.before = std::move(before); }

    void allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
        lifetime_.require_usable("allgatherv");
        const GatherCall checked(send, recv, counts, displs, group_);
        const comm::Layout layout = checked.layout();
        const BorrowedBuffer &from = checked.send, &to = checked.recv;
        std::int64_t total = 0, end = 0;
        bool has_empty = false;
        for (std::size_t r = 0; r < layout.counts.size(); ++r) {
            total += layout.counts[r];
            end = std::max(end, layout.displs[r] + layout.counts[r]);
            has_empty |= layout.counts[r] == 0;
        }
        const std::int64_t itemsize = (*to).dtype.itemsize;
        const auto own = static_cast<std::size_t>(group_.rank);
        const nb::object count_objects = as_list(layout.counts), displ_objects = as_list(layout.displs);
        run(comm::Operation::allgatherv, static_cast<std::uint64_t>(total * itemsize), [&] {
            check_before(comm::Call::allgatherv(*from, layout.counts));
            const nb::object type = type_of(itemsize);
            if (end * itemsize > largest_bytes_) {
                calls_.long_allgatherv(send, recv, count_objects, displ_objects, itemsize, type);
            } else {
                const bool in_place =
                    (*from).count > 0 && (*from).data == (*to).data + layout.displs[own] * itemsize;
                call(calls_.allgatherv, in_place ? calls_.in_place : pack(send, as_int((*from).count), type),
                     pack(recv, count_objects, displ_objects, type));
            }
            if (has_empty) call(calls_.barrier);  // a rank that gives nothing is waited for as well
        });
    }

    void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        lifetime_.require_usable("allreduce");
        const ReduceCall checked(send, recv, op, group_);
        const BorrowedBuffer& to = checked.recv;
        const comm::ReduceOp parsed = checked.op;
        const std::size_t bytes = (*to).bytes();
        run(comm::Operation::allreduce, bytes, [&] {
            check_before(comm::Call::allreduce(*to, parsed));
            const nb::object type = type_of((*to).dtype.itemsize);
            if (bytes > slab_bytes_ / static_cast<std::size_t>(group_.size)) {
                move_s_ = nb::cast<double>(
                    calls_.long_allreduce(send, recv, comm::name_of(parsed), (*to).dtype.itemsize, type));
                return;
            }
            const nb::object count = as_int((*to).count);
            call(calls_.allgather, pack(send, count, type), pack(calls_.slab, count, type));
            fold_slab(*to, parsed);
        });
    }

    void broadcast(nb::handle buf, nb::handle root) {
        lifetime_.require_usable("broadcast");
        const BroadcastCall checked(buf, root, group_);
        const BorrowedBuffer& buffer = checked.buf;
        const int number = checked.root;
        run(comm::Operation::broadcast, (*buffer).bytes(), [&] {
            check_before(comm::Call::broadcast(*buffer, number));
            if (static_cast<std::int64_t>((*buffer).bytes()) > largest_bytes_) {
                calls_.long_broadcast(buf, number);
            } else {
                call(calls_.bcast, pack(buf, as_int((*buffer).count), type_of((*buffer).dtype.itemsize)),
                     as_int(number));
            }
        });
    }

    void barrier() {
        lifetime_.require_usable("barrier");
        run(comm::Operation::barrier, 0, [&] {
            check_before(comm::Call::of(comm::Verb::barrier));
            call(calls_.barrier);
        });
    }

    // What the subclass does ahead of each call, if anything. Text and signature are equal on ranks that agree.
    void check_before(const comm::Call& call) const {
        if (!calls_.before.is_none())
            calls_.before(comm::name_of(call.verb), call.describe_common(), call.signature());
    }

    // The subclass's own collectives take turns with these four.
    void begin_call(const char* operation) {
        require_thread(operation);
        queue_.enter();
        if (is_serialised_) [[unlikely]]
            require_alone(operation);
    }
    bool try_begin_call() {
        if (!is_right_thread() || (is_serialised_ && inside_ != nullptr) || !queue_.try_enter()) return false;
        if (is_serialised_) inside_ = this;
        return true;
    }
    void end_call() {
        if (inside_ == this) inside_ = nullptr;
        queue_.leave();
    }

    // The same ahead of the subclass's own collectives.
    void check_before_region(std::uint64_t count, nb::handle dtype) const {
        check_before(comm::Call::create_region(
            count, dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()), "create_shared_region", "the region")));
    }

    int rank() const noexcept { return group_.rank; }
    int size() const noexcept { return group_.size; }
    bool is_open() const noexcept { return !lifetime_.is_closed() && !lifetime_.is_forked(); }
    void require_usable(const char* operation) { lifetime_.require_usable(operation); }
    void mark_closed() noexcept { lifetime_.close(); }
    nb::dict stats() const {
        lifetime_.require_same_process("stats");
        return as_dict(statistics_);
    }

private:
    struct Turn {
        Turn(ForeignTransport& owner, const char* operation) : owner_(owner) { owner_.begin_call(operation); }
        ~Turn() { owner_.end_call(); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        ForeignTransport& owner_;
    };

    // The GIL protects the statistics; the queue keeps one call from starting while another is inside the library.
    template <class Body>
    void run(comm::Operation operation, std::uint64_t bytes, Body body) {
        const char* const name = comm::operation_names[static_cast<std::size_t>(operation)];
        const Turn turn(*this, name);
        lifetime_.require_usable(name);
        move_s_ = 0.0;
        const comm::TraceScope traced(track_, statistics_[operation], operation);
        const comm::Stopwatch watch;
        try {
            body();
        } catch (nb::python_error& error) {
            (error.matches(calls_.error) ? calls_.on_error : calls_.on_interrupt)(name, error.value());
            throw;
        }
        comm::OperationStatistics& entry = statistics_[operation];
        entry.calls += 1;
        entry.bytes += bytes;
        entry.wait_s += watch.seconds() - move_s_;
        entry.move_s += move_s_;
    }

    template <class... Arguments>
    static void call(const nb::object& function, const Arguments&... arguments) {
        PyObject* pointers[] = {nullptr, arguments.ptr()...};
        const nb::object result = nb::steal(PyObject_Vectorcall(
            function.ptr(), pointers + 1, sizeof...(arguments) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
        if (!result.is_valid()) throw nb::python_error();
    }

    nb::object type_of(std::int64_t itemsize) {
        const nb::object key = as_int(itemsize);
        PyObject* found = PyDict_GetItemWithError(calls_.types.ptr(), key.ptr());
        if (found != nullptr) return nb::borrow(found);
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        nb::object made = nb::steal(PyObject_GetItem(calls_.types.ptr(), key.ptr()));  // by the dict's __missing__
        if (!made.is_valid()) throw nb::python_error();
        return made;
    }

    void fold_slab(const comm::Buffer& to, comm::ReduceOp op) {
        const comm::Stopwatch watch;
        const BorrowedBuffer slab(calls_.slab.ptr(), {"allreduce", group_}, "slab");
        std::vector<const std::byte*> rows(static_cast<std::size_t>(group_.size));
        for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = (*slab).data + r * to.bytes();
        comm::fold_in_rank_order(rows, static_cast<std::size_t>(to.count), to.dtype, op, to.data);
        move_s_ = watch.seconds();
    }

    bool is_right_thread() const noexcept {
        return only_thread_ == 0 || only_thread_ == PyThread_get_thread_ident();
    }

    void require_thread(const char* operation) const {
        if (is_right_thread()) [[likely]]
            return;
        throw comm::Error(comm::ErrorClass::invalid_communicator,
                          std::string(operation) + ": MPI was initialised for one thread, and this is another",
                          "initialise MPI with MPI.THREAD_SERIALIZED or higher, or leave that to Cobre");
    }

    // Waiting instead would let ranks wait for each other, each inside another communicator.
    void require_alone(const char* operation) {
        if (inside_ == nullptr) {
            inside_ = this;
            return;
        }
        queue_.leave();
        throw comm::Error(
            comm::ErrorClass::invalid_communicator,
            std::string(operation) +
                ": another communicator is in the middle of a call, and MPI was initialised for one at "
                "a time (THREAD_SERIALIZED)",
            "initialise MPI with MPI.THREAD_MULTIPLE, or leave that to Cobre");
    }

    // Of all communicators the one inside MPI, where it allows one call at a time. The GIL protects it.
    inline static const ForeignTransport* inside_ = nullptr;

    comm::Group group_;
    comm::Lifetime lifetime_;
    comm::Statistics statistics_;
    comm::Track track_;
    CallQueue queue_;
    Calls calls_;
    std::int64_t largest_bytes_ = 0;
    std::size_t slab_bytes_ = 0;
    unsigned long only_thread_ = 0;
    bool is_serialised_ = false;
    double move_s_ = 0.0;
};

}  // namespace

void bind_foreign_transport(nb::module_& m) {
    nb::class_<ForeignTransport>(m, "ForeignTransport", nb::type_slots(FastCalls<ForeignTransport>::slots()),
                                 "Collectives whose bytes a Python library moves.")
        .def(nb::init<int, int>(), "rank"_a, "size"_a)
        .def_prop_ro("rank", &ForeignTransport::rank, docs::rank)
        .def_prop_ro("size", &ForeignTransport::size, docs::size)
        .def_prop_ro("is_open", &ForeignTransport::is_open, "Neither closed nor inherited by a forked child.")
        .def("attach", &ForeignTransport::attach, "calls"_a, "largest_bytes"_a, "slab_bytes"_a, "only_thread"_a,
             "is_serialised"_a,
             nb::sig("def attach(self, calls: dict[str, object], largest_bytes: int, slab_bytes: int, "
                     "only_thread: int, is_serialised: bool) "
                     "-> None"),
             "Take over the library's calls, and the subclass's own for what is out of the ordinary.")
        .def("detach", &ForeignTransport::detach)
        .def("set_before", &ForeignTransport::set_before, "before"_a.none())
        .def("check_before_region", &ForeignTransport::check_before_region, "count"_a, "dtype"_a,
             "What stands before each collective, before create_shared_region.")
        .def("begin_call", &ForeignTransport::begin_call, "operation"_a, "Wait for this thread's turn.")
        .def("try_begin_call", &ForeignTransport::try_begin_call, "Begin a call if no other is under way.")
        .def("end_call", &ForeignTransport::end_call)
        .def("require_usable", &ForeignTransport::require_usable, "operation"_a,
             "Raise InvalidCommunicator after mark_closed() and in a forked child.")
        .def("mark_closed", &ForeignTransport::mark_closed);
}

}  // namespace cobre::bindings
