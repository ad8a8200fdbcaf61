// `cobre._machine`: the machine as the core sees it. An extension of its own, without NumPy, because launchers and
// commands ask for it before anything else is loaded.
#include "comm/machine.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <string>

#include "comm/process.hpp"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_machine, m) {
    namespace comm = cobre::comm;
    m.doc() = "CPUs and processes of this machine. Private: use the packages above it.";
    m.def(
        "usable_cpus", [](const std::string& root) { return comm::usable_cpus(root); }, "root"_a = "/",
        "CPUs that this process may use: its affinity, or its control group's quota if that is less.");
    m.def(
        "cpu_quota",
        [](const std::string& root) -> std::optional<double> {
            const double quota = comm::cpu_quota(root);
            return std::isfinite(quota) ? std::optional(quota) : std::nullopt;
        },
        "root"_a = "/",
        "CPUs' worth of time that the tightest control group around this process grants (v1 or v2), or None.");
    m.def(
        "process_start",
        [](std::int64_t pid) -> std::optional<std::uint64_t> {
            const std::uint64_t start = comm::start_of(pid);
            return start != 0 ? std::optional(start) : std::nullopt;
        },
        "pid"_a,
        "When a process began, in ticks since the boot; None if it has ended. A later process with the same pid "
        "began at another time.");
}
