// `_native.comm.ShmCommunicator` and the memory it shares: the whole hot path of the shm backend.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "bindings/call_lock.hpp"
#include "bindings/calls.hpp"
#include "bindings/comm.hpp"
#include "bindings/fast_calls.hpp"
#include "bindings/gil.hpp"
#include "bindings/statistics.hpp"
#include "shm/communicator.hpp"
#include "shm/segment.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

// Gives the GIL away while a call waits, and runs Python's signal handlers meanwhile.
class GilHolder final : public comm::Caller {
public:
    GilHolder() = default;
    ~GilHolder() { take_back(); }
    GilHolder(const GilHolder&) = delete;
    GilHolder& operator=(const GilHolder&) = delete;

    void release_locks() noexcept override {
        if (state_ == nullptr) state_ = PyEval_SaveThread();
    }

    // When true, the GIL is held and the handler's exception is set.
    bool is_interrupted() override {
        const bool had_released = state_ != nullptr;
        take_back();
        if (PyErr_CheckSignals() != 0) return true;
        if (had_released) release_locks();
        return false;
    }

    void take_back() noexcept {
        if (state_ != nullptr) Gil::take_back(std::exchange(state_, nullptr));
    }

private:
    PyThreadState* state_ = nullptr;
};

// Calls `action(caller)`; an exception of a signal handler comes out as it was raised.
template <class Action>
decltype(auto) with_gil_lent(Action&& action) {
    GilHolder holder;
    try {
        return action(holder);
    } catch (const comm::Interrupted&) {
        throw nb::python_error();
    }
}

// One region of this process: what the arrays over it keep alive.
class SharedMemory {
public:
    explicit SharedMemory(shm::Region region) : region_(std::move(region)) {}
    std::uint64_t id() const noexcept { return region_.id; }
    std::byte* data() const noexcept { return region_.memory->data(); }

private:
    shm::Region region_;
};

// `count` elements from byte `offset` on. This object is the array's base and offers no buffer, so that a
// read-only array cannot be made writable again.
nb::object array_over(nb::handle memory, nb::handle dtype, std::int64_t offset, std::int64_t count,
                      bool writable) {
    auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.inc_ref().ptr());
    npy_intp length = count;
    std::byte* data = nb::cast<const SharedMemory&>(memory).data() + offset;
    const int flags = writable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO;
    nb::object array =
        nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, 1, &length, nullptr, data, flags, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    auto* raw = reinterpret_cast<PyArrayObject*>(array.ptr());
    PyArray_UpdateFlags(raw, NPY_ARRAY_ALIGNED);
    if (PyArray_SetBaseObject(raw, memory.inc_ref().ptr()) < 0) throw nb::python_error();
    return array;
}

shm::Room room_of(std::uint64_t bytes, std::string limited_by) { return {bytes, std::move(limited_by)}; }

class Shm {
public:
    Shm(const std::string& name, int rank, int size, double connect_timeout, double timeout,
        const shm::Limits& limits, shm::Room room) {
        const shm::Meeting meeting{
            name, {rank, size}, comm::Deadline(connect_timeout), shm::sane(limits, size), std::move(room)};
        with_gil_lent([&](comm::Caller& caller) { core_ = shm::Communicator::start(meeting, timeout, caller); });
    }

    // The communicator of the same ranks that `split_local` returns.
    Shm(Shm& parent, const shm::Room& room) {
        parent.core().lifetime().require_usable("split_local");
        const CallLock lock(parent.calls_);
        with_gil_lent([&](comm::Caller& caller) { core_ = parent.core().split(room, caller); });
    }

    int rank() const { return core_->group().rank; }
    int size() const { return core_->group().size; }

    void allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
        core().lifetime().require_usable("allgatherv");
        const GatherCall call(send, recv, counts, displs, core().group());
        run(call.recv->bytes(),
            [&](comm::Caller& caller) { core().allgatherv(*call.send, *call.recv, call.layout(), caller); });
    }

    void allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        core().lifetime().require_usable("allreduce");
        const ReduceCall call(send, recv, op, core().group());
        run(call.recv->bytes(),
            [&](comm::Caller& caller) { core().allreduce(*call.send, *call.recv, call.op, caller); });
    }

    void broadcast(nb::handle buf, nb::handle root) {
        core().lifetime().require_usable("broadcast");
        const BroadcastCall call(buf, root, core().group());
        run(call.buf->bytes(), [&](comm::Caller& caller) { core().broadcast(*call.buf, call.root, caller); });
    }

    void barrier() {
        core().lifetime().require_usable("barrier");
        run(0, [&](comm::Caller& caller) { core().barrier(caller); });
    }

    SharedMemory create_region(std::uint64_t count, nb::handle dtype, std::uint64_t available,
                               std::string limited_by) {
        core().lifetime().require_usable("create_shared_region");
        const comm::DType element =
            dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()), "create_shared_region", "the region");
        const CallLock lock(calls_);
        return with_gil_lent([&](comm::Caller& caller) {
            return SharedMemory(
                core().create_region(count, element, room_of(available, std::move(limited_by)), caller));
        });
    }

    void fence(const SharedMemory& memory) {
        core().lifetime().require_usable("fence");
        run(0, [&](comm::Caller& caller) { core().fence(memory.id(), caller); });
    }

    void require_usable(const char* operation) { core().lifetime().require_usable(operation); }
    void close() { core().close(); }

    nb::dict stats() {
        core().lifetime().require_same_process("stats");
        return as_dict(core().statistics());
    }

private:
    // A payload that takes long enough to notice lets other Python threads run from the start.
    static constexpr std::size_t release_gil_bytes = 64 * 1024;

    shm::Communicator& core() const noexcept { return *core_; }

    template <class Action>
    void run(std::size_t bytes, Action&& action) {
        const CallLock lock(calls_);
        with_gil_lent([&](comm::Caller& caller) {
            if (bytes >= release_gil_bytes) caller.release_locks();
            action(caller);
        });
    }

    std::unique_ptr<shm::Communicator> core_;
    CallQueue calls_;
};

void construct(Shm* self, const std::string& name, int rank, int size, double connect_timeout, double timeout,
               std::uint64_t chunk_bytes, std::uint64_t ring_bytes, std::uint64_t inline_bytes,
               std::uint64_t slice_bytes, std::uint64_t vm_read_bytes, std::uint64_t available,
               std::string limited_by) {
    const shm::Limits limits{chunk_bytes, ring_bytes, inline_bytes, slice_bytes, vm_read_bytes};
    std::construct_at(self, name, rank, size, connect_timeout, timeout, limits,
                      room_of(available, std::move(limited_by)));
}

void construct_split(Shm* self, Shm& parent, std::uint64_t available, std::string limited_by) {
    std::construct_at(self, parent, room_of(available, std::move(limited_by)));
}

}  // namespace

void bind_shm(nb::module_& m) {
    nb::class_<SharedMemory>(m, "SharedMemory", "The memory of one region in this process.")
        .def(
            "array",
            [](nb::handle self, nb::handle dtype, std::int64_t offset, std::int64_t count, bool writable) {
                return array_over(self, dtype, offset, count, writable);
            },
            "dtype"_a, "offset"_a, "count"_a, "writable"_a,
            nb::sig("def array(self, dtype: typing.Any, offset: int, count: int, writable: bool) -> typing.Any"),
            "Elements from byte `offset` on, without a copy; the array keeps the memory.");

    nb::class_<Shm>(m, "ShmCommunicator", nb::type_slots(FastCalls<Shm>::slots()),
                    "Collectives of the ranks of one machine.")
        .def("__init__", &construct, "name"_a, "rank"_a, "size"_a, "connect_timeout"_a, "timeout"_a,
             "chunk_bytes"_a, "ring_bytes"_a, "inline_bytes"_a, "slice_bytes"_a, "vm_read_bytes"_a,
             "available_bytes"_a, "limited_by"_a)
        .def("__init__", &construct_split, "parent"_a, "available_bytes"_a, "limited_by"_a)
        .def_prop_ro("rank", &Shm::rank, docs::rank)
        .def_prop_ro("size", &Shm::size, docs::size)
        .def("create_region", &Shm::create_region, "count"_a, "dtype"_a, "available_bytes"_a, "limited_by"_a,
             "Collective: memory that all ranks have mapped.")
        .def("fence", &Shm::fence, "memory"_a, "Collective: all writes to that region are visible afterwards.")
        .def("require_usable", &Shm::require_usable, "operation"_a,
             "Raise InvalidCommunicator after close() and in a forked child.");
    m.attr("MOST_SHM_RANKS") = shm::largest_group;
    m.def(
        "creator_of_segment",
        [](const std::string& name) {
            const shm::Creator creator = shm::creator_of(name);
            return nb::make_tuple(creator.pid, creator.is_alive);
        },
        "name"_a, nb::sig("def creator_of_segment(name: str) -> tuple[int, bool]"),
        "The process that made a segment which still has its name, and whether that process runs.");
    m.def("reclaim_segment", &shm::reclaim_orphan, "name"_a,
          "Remove the name of a segment whose creator is dead; whether it did.");
}

}  // namespace cobre::bindings
