// `_native.lp`: HiGHS driven a batch of solves at a time.
#include "bindings/lp.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>

#include "bindings/bound_solver.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

void bind_lp(nb::module_& m) {
    nb::class_<lp::HighsLibrary>(m, "HighsLibrary", "HiGHS, as an imported highspy has mapped it.")
        .def_static(
            "from_mapped",
            [] { return std::const_pointer_cast<lp::HighsLibrary>(lp::HighsLibrary::from_mapped()); },
            "Raise RuntimeError that says what is missing or does not fit.")
        .def_ro("path", &lp::HighsLibrary::path)
        .def_ro("version", &lp::HighsLibrary::version_text);

    nb::enum_<lp::Status>(m, "Status", "How a batch ended.")
        .value("OPTIMAL", lp::Status::optimal)
        .value("INFEASIBLE", lp::Status::infeasible)
        .value("UNBOUNDED", lp::Status::unbounded)
        .value("FAILED", lp::Status::failed)
        .value("OUT_OF_TIME", lp::Status::out_of_time)
        .value("BAD_PARAMETER", lp::Status::bad_parameter);

    nb::class_<lp::ThreadPool>(m, "ThreadPool", "Threads that help with batches of solves; the caller is one.")
        .def(
            "__init__",
            [](lp::ThreadPool* self, std::size_t threads) {
                if (threads == 0) throw std::invalid_argument("a pool has no threads\n  fix: give 1 or more");
                new (self) lp::ThreadPool(threads);
            },
            "threads"_a)
        .def_prop_ro("threads", &lp::ThreadPool::threads);

    nb::class_<BoundSolver>(m, "Solver",
                            "Solvers of one program, one per thread; cobre.solver.LpSolver is its public face.")
        .def(
            "__init__",
            [](BoundSolver* self, std::shared_ptr<lp::HighsLibrary> highs, const Vector<double>& cost,
               const Vector<double>& column_lower, const Vector<double>& column_upper,
               const Vector<double>& row_lower, const Vector<double>& row_upper,
               const Vector<std::int32_t>& row_starts, const Vector<std::int32_t>& column_indices,
               const Vector<double>& values, const Vector<std::uint8_t>& patch_target,
               const Vector<std::int32_t>& patch_index, const Vector<std::int32_t>& patch_source,
               const Vector<double>& patch_offset, const Vector<double>& patch_factor, std::size_t n_parameters,
               const Vector<std::int32_t>& cut_columns, std::int32_t future_cost_column,
               const Vector<std::int32_t>& observed_columns, const Vector<std::int32_t>& observed_rows,
               double feasibility_tolerance, int max_attempts, double retry_seconds, int iteration_limit,
               bool uses_simplex, std::shared_ptr<lp::ThreadPool> pool) {
                lp::Model model{copied(cost),      copied(column_lower), copied(column_upper),   copied(row_lower),
                                copied(row_upper), copied(row_starts),   copied(column_indices), copied(values)};
                model.check();
                if (!(feasibility_tolerance >= 1e-10 && feasibility_tolerance <= 1e-3))
                    throw std::invalid_argument("the feasibility tolerance is " +
                                                std::to_string(feasibility_tolerance) +
                                                "\n  fix: give one between 1e-10 and 1e-3");
                if (max_attempts < 1 || !(retry_seconds >= 0.0) || iteration_limit < 0)
                    throw std::invalid_argument(
                        "attempts, retry time and iterations must be at least 1, 0 and 0\n  fix: correct them");
                lp::Observation observation{copied(cut_columns), future_cost_column, copied(observed_columns),
                                            copied(observed_rows)};
                check_observation(observation, model);
                lp::PatchPlan plan = make_plan(model, patch_target, patch_index, patch_source, patch_offset,
                                               patch_factor, n_parameters);
                new (self) BoundSolver(
                    std::move(highs), std::move(model), std::move(plan), std::move(observation),
                    {feasibility_tolerance, max_attempts, retry_seconds, iteration_limit, uses_simplex},
                    std::move(pool));
            },
            "highs"_a, nb::kw_only(), "cost"_a, "column_lower"_a, "column_upper"_a, "row_lower"_a, "row_upper"_a,
            "row_starts"_a, "column_indices"_a, "values"_a, "patch_target"_a, "patch_index"_a, "patch_source"_a,
            "patch_offset"_a, "patch_factor"_a, "n_parameters"_a, "cut_columns"_a, "future_cost_column"_a,
            "observed_columns"_a, "observed_rows"_a, "feasibility_tolerance"_a, "max_attempts"_a,
            "retry_seconds"_a, "iteration_limit"_a, "uses_simplex"_a, "pool"_a.none())
        .def("append_cuts", &BoundSolver::append_cuts, "intercepts"_a, "coefficients"_a)
        .def("share_cuts", &BoundSolver::share_cuts, "rows"_a.noconvert())
        .def("set_active", &BoundSolver::set_active, "active"_a)
        .def("clear_cuts", &BoundSolver::clear_cuts)
        .def("solve", &BoundSolver::solve, "parameters"_a, nb::kw_only(), "chain_length"_a, "block_length"_a,
             "start_bases"_a.none(), "basis_of"_a, "order"_a.none(), "objective"_a.noconvert(),
             "observed_primal"_a.noconvert(), "observed_dual"_a.noconvert(), "cut_dual"_a.noconvert().none(),
             "primal"_a.noconvert().none(), "dual"_a.noconvert().none(), "reduced_cost"_a.noconvert().none(),
             "iterations"_a.noconvert().none(), "bases"_a.noconvert().none(),
             "Return (status, solves done, attempts of the last one). The GIL is released.")
        .def("cut_expectation", &BoundSolver::cut_expectation, "states"_a, "openings"_a, "weights"_a,
             "rows"_a.noconvert(), nb::kw_only(), "block_length"_a, "start_bases"_a.none(), "order"_a.none(),
             "next"_a.noconvert().none(), "risk_weight"_a, "tail"_a,
             "Fill rows with the cut of each state, or of those claimed from next; return what solve returns. The "
             "GIL is released.")
        .def("patched", &BoundSolver::patched, nb::sig("def patched(self) -> dict[str, NDArray[numpy.float64]]"))
        .def("cuts", &BoundSolver::cuts,
             nb::sig(
                 "def cuts(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.uint8]]"))
        .def("counters", &BoundSolver::counters, nb::sig("def counters(self) -> dict[str, int]"))
        .def("reset_counters", &BoundSolver::reset_counters)
        .def_prop_ro("n_slots", &BoundSolver::slots)
        .def_prop_ro("n_active", &BoundSolver::active_cuts)
        .def_prop_ro("basis_size", &BoundSolver::basis_size);
}

}  // namespace cobre::bindings
