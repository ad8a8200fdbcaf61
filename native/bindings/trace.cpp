// `_native.comm.Track`: the recorder for backends that are written in Python.
#include "comm/trace.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings/comm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

void add(comm::Track& track, const std::string& operation, std::uint64_t begin_ns, std::uint64_t end_ns,
         double wait_s, std::uint64_t bytes, bool is_failed) {
    const auto& names = comm::operation_names;
    const auto* found = std::find(names.begin(), names.end(), operation);
    if (found == names.end()) throw nb::value_error("no such collective");
    comm::TraceEntry record;
    record.begin_ns = begin_ns;
    record.duration_s = static_cast<float>(static_cast<double>(end_ns - begin_ns) * 1e-9);
    record.wait_s = static_cast<float>(wait_s);
    record.bytes = bytes;
    record.operation = static_cast<std::uint8_t>(found - names.begin());
    if (is_failed) record.operation |= comm::TraceEntry::failed;
    track.add(record);
}

}  // namespace

void bind_trace(nb::module_& m) {
    nb::class_<comm::Track>(m, "Track", "The timeline of one communicator, for COBRE_COMM_TRACE.")
        .def(
            "__init__",
            [](comm::Track* self, int rank, int size, const std::string& backend) {
                new (self) comm::Track(comm::Group{rank, size}, backend.c_str());
            },
            "rank"_a, "size"_a, "backend"_a)
        .def_prop_ro("is_on", &comm::Track::is_on)
        .def("add", &add, "operation"_a, "begin_ns"_a, "end_ns"_a, "wait_s"_a, "bytes"_a, "is_failed"_a,
             "Enter one collective; the times are time.monotonic_ns().");
}

}  // namespace cobre::bindings
