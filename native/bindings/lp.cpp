// `_native.lp`: HiGHS driven a batch of solves at a time.
#include "bindings/lp.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings/gil.hpp"
#include "bindings/lp_arguments.hpp"
#include "lp/highs_library.hpp"
#include "lp/parallel_solver.hpp"
#include "lp/solver.hpp"
#include "lp/thread_pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

// One caller at a time: a second thread is told so, rather than made to wait for a batch of unknown length.
class Turn {
public:
    explicit Turn(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
        if (!lock_.owns_lock())
            throw std::runtime_error(
                "this LpSolver is at work in another thread\n  fix: give each thread an LpSolver of its own");
    }

private:
    std::unique_lock<std::mutex> lock_;
};

class BoundSolver {
public:
    BoundSolver(std::shared_ptr<const lp::HighsLibrary> highs, lp::Model model, lp::PatchPlan plan,
                lp::Observation observation, lp::Settings settings, std::shared_ptr<lp::ThreadPool> pool)
        : solver_(std::make_unique<lp::Solver>(std::move(highs), std::move(model), std::move(plan),
                                               std::move(observation), settings),
                  std::move(pool)) {}

    void append_cuts(const Vector<double>& intercepts, const Matrix<double>& coefficients) {
        const Turn turn(busy_);
        const std::size_t dimension = solver_.cuts().dimension();
        if (coefficients.shape(0) != intercepts.size() || coefficients.shape(1) != dimension)
            throw std::invalid_argument("the coefficients have the shape " +
                                        shape_text(coefficients.shape(0), coefficients.shape(1)) + ", " +
                                        std::to_string(intercepts.size()) + " cuts need " +
                                        shape_text(intercepts.size(), dimension) +
                                        "\n  fix: give one row per cut and one column per cut column");
        check_takes_cuts();
        solver_.append_cuts(viewed(intercepts), {coefficients.data(), coefficients.size()});
    }

    void share_cuts(const Matrix<double>& rows) {
        const Turn turn(busy_);
        const std::size_t known = solver_.cuts().slots(), width = 1 + solver_.cuts().dimension();
        if (rows.shape(0) < known || rows.shape(1) != width)
            throw std::invalid_argument("the cuts have the shape " + shape_text(rows.shape(0), rows.shape(1)) +
                                        ", this program has " + std::to_string(known) + " and takes rows of " +
                                        std::to_string(width) +
                                        "\n  fix: give all cuts so far and new ones, each its intercept and one "
                                        "coefficient per cut column");
        check_takes_cuts();
        solver_.share_cuts({rows.data(), rows.size()});
        shared_rows_ = rows;
    }

    void set_active(const Vector<bool>& active) {
        const Turn turn(busy_);
        if (active.size() != solver_.cuts().slots())
            throw std::invalid_argument("the mask has " + std::to_string(active.size()) + " elements for " +
                                        std::to_string(solver_.cuts().slots()) +
                                        " slots\n  fix: give one per slot");
        std::vector<std::uint8_t> mask(active.size());
        for (std::size_t slot = 0; slot < mask.size(); ++slot) mask[slot] = active.data()[slot] ? 1 : 0;
        solver_.set_active(mask);
    }

    void clear_cuts() {
        const Turn turn(busy_);
        solver_.clear_cuts();
        shared_rows_ = {};
    }

    std::tuple<lp::Status, std::size_t, int> solve(
        const Matrix<double>& parameters, std::size_t chain_length, std::size_t block_length,
        const std::optional<Matrix<std::uint8_t>>& start_bases, std::int64_t basis_of,
        const std::optional<Vector<std::int32_t>>& order, const VectorOut<double>& objective,
        const MatrixOut<double>& observed_primal, const MatrixOut<double>& observed_dual,
        const std::optional<MatrixOut<double>>& cut_dual, const std::optional<MatrixOut<double>>& primal,
        const std::optional<MatrixOut<double>>& dual, const std::optional<MatrixOut<double>>& reduced_cost,
        const std::optional<VectorOut<std::int32_t>>& iterations,
        const std::optional<MatrixOut<std::uint8_t>>& bases) {
        const Turn turn(busy_);
        const std::size_t n = parameters.shape(0);
        const lp::Model& model = solver_.last().patched();
        const lp::Observation& observed = solver_.last().observation();
        const std::size_t n_parameters = solver_.last().n_parameters();
        lp::BatchInput input;
        input.solves = n;
        input.chain_length = chain_length;
        if (parameters.shape(1) != n_parameters)
            throw std::invalid_argument("a row of parameters holds " + std::to_string(parameters.shape(1)) +
                                        " values but the patches read " + std::to_string(n_parameters) +
                                        "\n  fix: give one column per parameter");
        if (chain_length == 0 || n % chain_length != 0)
            throw std::invalid_argument(std::to_string(n) + " solves do not fill chains of " +
                                        std::to_string(chain_length) +
                                        "\n  fix: give a multiple of the chain's length");
        if (block_length == 0)
            throw std::invalid_argument("blocks of a chain have no solves\n  fix: give 1 or more");
        const std::size_t chains = n / chain_length;
        const auto length = static_cast<std::int64_t>(chain_length);
        if (basis_of < -length || basis_of >= length)
            throw std::invalid_argument("basis_of is " + std::to_string(basis_of) + " in chains of " +
                                        std::to_string(chain_length) + "\n  fix: name a solve of the chain");
        input.basis_of = static_cast<std::size_t>(basis_of < 0 ? basis_of + length : basis_of);
        input.parameters = {parameters.data(), parameters.size()};
        if (start_bases) take_start(*start_bases, chains, input);
        if (order) {
            check_order(*order, chain_length);
            input.order = viewed(*order);
        }
        lp::BatchOutput out;
        out.objective = output<double>(std::optional(objective), "objective", n);
        out.observed_primal =
            output<double>(std::optional(observed_primal), "observed_primal", n, observed.columns.size());
        out.observed_dual = output<double>(std::optional(observed_dual), "observed_dual", n, observed.rows.size());
        out.cut_dual = output<double>(cut_dual, "cut_dual", n, solver_.cuts().slots());
        out.primal = output<double>(primal, "primal", n, model.columns());
        out.dual = output<double>(dual, "dual", n, model.rows());
        out.reduced_cost = output<double>(reduced_cost, "reduced_cost", n, model.columns());
        out.iterations = output<std::int32_t>(iterations, "iterations", n);
        out.bases = output<std::uint8_t>(bases, "bases", chains, basis_size());

        lp::Outcome outcome;
        {
            const WithoutGil released;
            outcome = solver_.solve(input, block_length, out, [] {
                const WithGil held;
                return PyErr_CheckSignals() != 0;
            });
        }
        if (outcome.status == lp::Status::interrupted) throw nb::python_error();
        return {outcome.status, outcome.solved, outcome.attempts};
    }

    nb::dict patched() {
        const Turn turn(busy_);
        const lp::Model& model = solver_.last().patched();
        nb::dict arrays;
        arrays["column_cost"] = owned_copy<double>(model.cost);
        arrays["column_lower"] = owned_copy<double>(model.column_lower);
        arrays["column_upper"] = owned_copy<double>(model.column_upper);
        arrays["row_lower"] = owned_copy<double>(model.row_lower);
        arrays["row_upper"] = owned_copy<double>(model.row_upper);
        return arrays;
    }

    nb::tuple cuts() {
        const Turn turn(busy_);
        const lp::CutPool& pool = solver_.cuts();
        std::vector<double> intercepts, coefficients;
        std::vector<std::uint8_t> active;
        for (std::size_t slot = 0; slot < pool.slots(); ++slot) {
            intercepts.push_back(pool.intercept(slot));
            const auto row = pool.coefficients(slot);
            coefficients.insert(coefficients.end(), row.begin(), row.end());
            active.push_back(pool.is_active(slot) ? 1 : 0);
        }
        return nb::make_tuple(owned_copy<double>(intercepts), owned_copy<double>(coefficients),
                              owned_copy<std::uint8_t>(active));
    }

    nb::dict counters() {
        const Turn turn(busy_);
        const lp::Counters c = solver_.counters();
        const lp::Counters& own = solver_.own_counters();
        nb::dict all;
        all["own_patch_ns"] = own.patch_ns;
        all["own_basis_ns"] = own.basis_ns;
        all["own_run_ns"] = own.run_ns;
        all["own_extract_ns"] = own.extract_ns;
        all["own_cuts_ns"] = own.cuts_ns;
        all["waiting_ns"] = solver_.waiting_ns();
        all["patch_ns"] = c.patch_ns;
        all["basis_ns"] = c.basis_ns;
        all["run_ns"] = c.run_ns;
        all["extract_ns"] = c.extract_ns;
        all["cuts_ns"] = c.cuts_ns;
        all["solves"] = c.solves;
        all["chains"] = c.chains;
        all["iterations"] = c.iterations;
        all["retries"] = c.retries;
        all["handed_over"] = c.handed_over;
        for (std::size_t k = 0; k < c.recovered.size(); ++k)
            all[("recovered_" + std::to_string(k + 2)).c_str()] = c.recovered[k];
        return all;
    }

    // In the order of `cobre.solver.COUNTED`.
    std::array<std::int64_t, 14> counted() {
        const Turn turn(busy_);
        const lp::Counters c = solver_.counters();
        return {c.solves,       c.chains,       c.iterations,   c.retries,      c.run_ns,
                c.cuts_ns,      c.patch_ns,     c.basis_ns,     c.recovered[0], c.recovered[1],
                c.recovered[2], c.recovered[3], c.recovered[4], c.recovered[5]};
    }

    void reset_counters() {
        const Turn turn(busy_);
        solver_.reset_counters();
    }

    std::size_t slots() const { return solver_.cuts().slots(); }
    std::size_t active_cuts() const { return solver_.cuts().active_slots().size(); }
    std::size_t basis_size() const { return solver_.last().basis_size(); }

private:
    void check_takes_cuts() const {
        if (solver_.last().observation().future_cost_column < 0)
            throw std::invalid_argument(
                "this template has no future_cost_column, so that it takes no cuts\n  fix: name that column");
    }

    void take_start(const Matrix<std::uint8_t>& start, std::size_t chains, lp::BatchInput& input) const {
        const std::size_t fixed = solver_.last().patched().columns() + solver_.last().patched().rows();
        const std::size_t width = start.shape(1);
        if (width < fixed || width > basis_size())
            throw std::invalid_argument(
                "a start basis has " + std::to_string(width) + " bytes, this program takes " +
                std::to_string(fixed) + " to " + std::to_string(basis_size()) +
                "\n  fix: give a basis that this program or an earlier state of it stored");
        if (start.shape(0) != chains && start.shape(0) != 1)
            throw std::invalid_argument(std::to_string(start.shape(0)) + " start bases for " +
                                        std::to_string(chains) + " chains\n  fix: give one per chain, or one");
        for (std::size_t row = 0; row < start.shape(0); ++row) {
            const std::uint8_t* bytes = start.data() + row * width;
            if (bytes[0] == lp::no_basis) continue;
            for (std::size_t k = 0; k < width; ++k)
                if (bytes[k] > 4)
                    throw std::invalid_argument("start basis " + std::to_string(row) + " has the byte " +
                                                std::to_string(bytes[k]) + " at " + std::to_string(k) +
                                                "\n  fix: pass a basis as it was stored");
        }
        input.start_bases = {start.data(), start.size()};
        input.start_width = width;
        input.is_start_shared = start.shape(0) == 1;
    }

    lp::ParallelSolver solver_;
    Matrix<double> shared_rows_;  // keeps the memory of cuts that are not copied
    std::mutex busy_;
};

}  // namespace

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
        .def("patched", &BoundSolver::patched, nb::sig("def patched(self) -> dict[str, NDArray[numpy.float64]]"))
        .def("cuts", &BoundSolver::cuts,
             nb::sig(
                 "def cuts(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.uint8]]"))
        .def("counters", &BoundSolver::counters, nb::sig("def counters(self) -> dict[str, int]"))
        .def("counted", &BoundSolver::counted, nb::sig("def counted(self) -> list[int]"),
             "Some of the counters, in an order of their own.")
        .def("reset_counters", &BoundSolver::reset_counters)
        .def_prop_ro("n_slots", &BoundSolver::slots)
        .def_prop_ro("n_active", &BoundSolver::active_cuts)
        .def_prop_ro("basis_size", &BoundSolver::basis_size);
}

}  // namespace cobre::bindings
