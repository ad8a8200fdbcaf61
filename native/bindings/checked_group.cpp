// `_native.comm.CheckedGroup`: all of a communicator but its transport, for backends that move bytes in Python.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "bindings/buffers.hpp"
#include "bindings/comm.hpp"
#include "bindings/statistics.hpp"
#include "comm/lifetime.hpp"
#include "comm/statistics.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

const char* name_of(comm::ReduceOp op) noexcept {
    switch (op) {
        case comm::ReduceOp::sum: return "sum";
        case comm::ReduceOp::min: return "min";
        case comm::ReduceOp::max: break;
    }
    return "max";
}

nb::list as_list(std::span<const std::int64_t> values) {
    nb::list list;
    for (const std::int64_t value : values) list.append(value);
    return list;
}

// Used under the GIL throughout, which is what serialises access to the statistics.
class CheckedGroup {
public:
    CheckedGroup(int rank, int size) : group_{rank, size} {}

    nb::tuple plan_allgatherv(nb::handle send, nb::handle recv, nb::handle counts, nb::handle displs) {
        lifetime_.require_usable("allgatherv");
        const BorrowedBuffer from(send.ptr(), "allgatherv", "send");
        const BorrowedBuffer to(recv.ptr(), "allgatherv", "recv");
        const IntegerList count_list(counts.ptr(), "allgatherv", "counts");
        const IntegerList displ_list(displs.ptr(), "allgatherv", "displs");
        const comm::Layout layout{count_list.values(), displ_list.values()};
        comm::check_allgatherv(*from, *to, layout, group_);
        std::int64_t total = 0, end = 0;
        bool has_empty = false;
        for (std::size_t r = 0; r < layout.counts.size(); ++r) {
            total += layout.counts[r];
            end = std::max(end, layout.displs[r] + layout.counts[r]);
            has_empty |= layout.counts[r] == 0;
        }
        const std::int64_t itemsize = (*to).dtype.itemsize;
        const bool in_place =
            (*from).count > 0 &&
            (*from).data == (*to).data + layout.displs[static_cast<std::size_t>(group_.rank)] * itemsize;
        return nb::make_tuple(as_list(layout.counts), as_list(layout.displs), itemsize, total, end, in_place,
                              has_empty);
    }

    nb::tuple plan_allreduce(nb::handle send, nb::handle recv, nb::handle op) {
        lifetime_.require_usable("allreduce");
        const BorrowedBuffer from(send.ptr(), "allreduce", "send");
        const BorrowedBuffer to(recv.ptr(), "allreduce", "recv");
        const comm::ReduceOp parsed = reduce_op_of(op.ptr());
        comm::check_allreduce(*from, *to, parsed, group_);
        return nb::make_tuple(name_of(parsed), (*to).dtype.itemsize, (*to).count);
    }

    nb::tuple plan_broadcast(nb::handle buf, nb::handle root) {
        lifetime_.require_usable("broadcast");
        const BorrowedBuffer buffer(buf.ptr(), "broadcast", "buf");
        const int number = check_broadcast_root(buffer, root, group_);
        return nb::make_tuple(number, (*buffer).dtype.itemsize, (*buffer).count);
    }

    void record(int operation, std::uint64_t bytes, double wait_s, double move_s) {
        comm::OperationStatistics& entry = statistics_[static_cast<comm::Operation>(operation)];
        entry.calls += 1;
        entry.bytes += bytes;
        entry.wait_s += wait_s;
        entry.move_s += move_s;
    }

    int rank() const noexcept { return group_.rank; }
    int size() const noexcept { return group_.size; }
    bool is_open() const noexcept { return !lifetime_.is_closed() && !lifetime_.is_forked(); }
    bool is_forked() const noexcept { return lifetime_.is_forked(); }
    void require_usable(const char* operation) { lifetime_.require_usable(operation); }
    void mark_closed() noexcept { lifetime_.close(); }
    nb::dict stats() const { return as_dict(statistics_); }

private:
    comm::Group group_;
    comm::Lifetime lifetime_;
    comm::Statistics statistics_;
};

}  // namespace

void bind_checked_group(nb::module_& m) {
    nb::class_<CheckedGroup>(m, "CheckedGroup",
                             "Rank, size, lifetime, argument checks and statistics; moving bytes is up to the subclass.")
        .def(nb::init<int, int>(), "rank"_a, "size"_a)
        .def_prop_ro("rank", &CheckedGroup::rank)
        .def_prop_ro("size", &CheckedGroup::size)
        .def_prop_ro("is_open", &CheckedGroup::is_open, "Neither closed nor inherited by a forked child.")
        .def_prop_ro("is_forked", &CheckedGroup::is_forked)
        .def("plan_allgatherv", &CheckedGroup::plan_allgatherv, "send"_a.none(), "recv"_a.none(), "counts"_a.none(),
             "displs"_a.none(),
             nb::sig("def plan_allgatherv(self, send: object, recv: object, counts: object, displs: object) -> "
                     "tuple[list[int], list[int], int, int, int, bool, bool]"),
             "Raise what allgatherv must raise, or return counts, displs, bytes per element, elements in all, "
             "where the last part ends, whether send is its own part of recv, and whether any part is empty.")
        .def("plan_allreduce", &CheckedGroup::plan_allreduce, "send"_a.none(), "recv"_a.none(), "op"_a.none(),
             nb::sig("def plan_allreduce(self, send: object, recv: object, op: object) -> tuple[str, int, int]"),
             "Raise what allreduce must raise, or return the operation's name, bytes per element, elements.")
        .def("plan_broadcast", &CheckedGroup::plan_broadcast, "buf"_a.none(), "root"_a.none(),
             nb::sig("def plan_broadcast(self, buf: object, root: object) -> tuple[int, int, int]"),
             "Raise what broadcast must raise, or return the root, bytes per element, elements.")
        .def("record", &CheckedGroup::record, "operation"_a, "bytes"_a, "wait_s"_a, "move_s"_a,
             "Count one call of operation 0..3: allgatherv, allreduce, broadcast, barrier.")
        .def("stats", &CheckedGroup::stats, nb::sig("def stats(self) -> dict[str, dict[str, float]]"))
        .def("require_usable", &CheckedGroup::require_usable, "operation"_a,
             "Raise InvalidCommunicator after mark_closed() and in a forked child.")
        .def("mark_closed", &CheckedGroup::mark_closed);
}

}  // namespace cobre::bindings
