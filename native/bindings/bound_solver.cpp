#include "bindings/bound_solver.hpp"

#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace cobre::bindings {

bool has_python_interrupt() {
    const WithGil held;
    return PyErr_CheckSignals() != 0;
}

BoundSolver::BoundSolver(std::shared_ptr<const lp::HighsLibrary> highs, lp::Model model, lp::PatchPlan plan,
                         lp::Observation observation, lp::Settings settings, std::shared_ptr<lp::ThreadPool> pool)
    : solver_(std::make_unique<lp::Solver>(std::move(highs), std::move(model), std::move(plan),
                                           std::move(observation), settings),
              std::move(pool)) {}

void BoundSolver::append_cuts(const Vector<double>& intercepts, const Matrix<double>& coefficients) {
    const Turn turn(busy_);
    const std::size_t dimension = solver_.cuts().dimension();
    if (coefficients.shape(0) != intercepts.size() || coefficients.shape(1) != dimension)
        throw std::invalid_argument(
            "the coefficients have the shape " + shape_text(coefficients.shape(0), coefficients.shape(1)) + ", " +
            std::to_string(intercepts.size()) + " cuts need " + shape_text(intercepts.size(), dimension) +
            "\n  fix: give one row per cut and one column per cut column");
    check_takes_cuts();
    solver_.append_cuts(viewed(intercepts), {coefficients.data(), coefficients.size()});
}

void BoundSolver::share_cuts(const Matrix<double>& rows) {
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
}

void BoundSolver::set_active(const Vector<bool>& active) {
    const Turn turn(busy_);
    if (active.size() != solver_.cuts().slots())
        throw std::invalid_argument("the mask has " + std::to_string(active.size()) + " elements for " +
                                    std::to_string(solver_.cuts().slots()) + " slots\n  fix: give one per slot");
    std::vector<std::uint8_t> mask(active.size());
    for (std::size_t slot = 0; slot < mask.size(); ++slot) mask[slot] = active.data()[slot] ? 1 : 0;
    solver_.set_active(mask);
}

void BoundSolver::clear_cuts() {
    const Turn turn(busy_);
    solver_.clear_cuts();
}

BoundSolver::Outcome BoundSolver::solve(
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
    lp::BatchInput input;
    input.solves = n;
    input.chain_length = chain_length;
    check_parameters(parameters.shape(1));
    if (chain_length == 0 || n % chain_length != 0)
        throw std::invalid_argument(std::to_string(n) + " solves do not fill chains of " +
                                    std::to_string(chain_length) +
                                    "\n  fix: give a multiple of the chain's length");
    if (block_length == 0) throw std::invalid_argument("blocks of a chain have no solves\n  fix: give 1 or more");
    const std::size_t chains = n / chain_length;
    const auto length = static_cast<std::int64_t>(chain_length);
    if (basis_of < -length || basis_of >= length)
        throw std::invalid_argument("basis_of is " + std::to_string(basis_of) + " in chains of " +
                                    std::to_string(chain_length) + "\n  fix: name a solve of the chain");
    input.basis_of = static_cast<std::size_t>(basis_of < 0 ? basis_of + length : basis_of);
    input.parameters = {parameters.data(), parameters.size()};
    if (start_bases) {
        input.start_width = check_start(*start_bases, chains);
        input.start_bases = {start_bases->data(), start_bases->size()};
        input.is_start_shared = start_bases->shape(0) == 1;
    }
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
        outcome = solver_.solve(input, block_length, out, has_python_interrupt);
    }
    if (outcome.status == lp::Status::interrupted) throw nb::python_error();
    return {outcome.status, outcome.solved, outcome.attempts};
}

nb::dict BoundSolver::patched() {
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

nb::tuple BoundSolver::cuts() {
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

nb::dict BoundSolver::counters() {
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

std::array<std::int64_t, BoundSolver::n_counted> BoundSolver::counted() {
    const Turn turn(busy_);
    const lp::Counters c = solver_.counters();
    return {c.solves,       c.chains,       c.iterations,   c.retries,      c.run_ns,
            c.cuts_ns,      c.patch_ns,     c.basis_ns,     c.recovered[0], c.recovered[1],
            c.recovered[2], c.recovered[3], c.recovered[4], c.recovered[5]};
}

void BoundSolver::reset_counters() {
    const Turn turn(busy_);
    solver_.reset_counters();
}

void BoundSolver::check_takes_cuts() const {
    if (solver_.last().observation().future_cost_column < 0)
        throw std::invalid_argument(
            "this template has no future_cost_column, so that it takes no cuts\n  fix: name that column");
}

std::size_t BoundSolver::check_start(const Matrix<std::uint8_t>& start, std::size_t chains) const {
    const std::size_t fixed = solver_.last().patched().columns() + solver_.last().patched().rows();
    const std::size_t width = start.shape(1);
    if (width < fixed || width > basis_size())
        throw std::invalid_argument("a start basis has " + std::to_string(width) + " bytes, this program takes " +
                                    std::to_string(fixed) + " to " + std::to_string(basis_size()) +
                                    "\n  fix: give a basis that this program or an earlier state of it stored");
    if (start.shape(0) != chains && start.shape(0) != 1)
        throw std::invalid_argument(std::to_string(start.shape(0)) + " start bases for " + std::to_string(chains) +
                                    " chains\n  fix: give one per chain, or one");
    for (std::size_t row = 0; row < start.shape(0); ++row) {
        const std::uint8_t* bytes = start.data() + row * width;
        if (bytes[0] == lp::no_basis) continue;
        for (std::size_t k = 0; k < width; ++k)
            if (bytes[k] > 4)
                throw std::invalid_argument("start basis " + std::to_string(row) + " has the byte " +
                                            std::to_string(bytes[k]) + " at " + std::to_string(k) +
                                            "\n  fix: pass a basis as it was stored");
    }
    return width;
}

void BoundSolver::check_parameters(std::size_t given) const {
    const std::size_t n_parameters = solver_.last().n_parameters();
    if (given != n_parameters)
        throw std::invalid_argument("a row of parameters holds " + std::to_string(given) +
                                    " values but the patches read " + std::to_string(n_parameters) +
                                    "\n  fix: give one column per parameter");
}

BoundSolver::Outcome BoundSolver::cut_expectation(const Matrix<double>& states, const Matrix<double>& openings,
                                                  const Vector<double>& weights, const MatrixOut<double>& rows,
                                                  std::size_t block_length,
                                                  const std::optional<Matrix<std::uint8_t>>& start_bases,
                                                  const std::optional<Vector<std::int32_t>>& order,
                                                  const std::optional<VectorOut<std::int64_t>>& next,
                                                  double risk_weight, double tail) {
    const Turn turn(busy_);
    const std::size_t points = states.shape(0), dimension = states.shape(1);
    check_parameters(dimension + openings.shape(1));
    if (weights.size() != openings.shape(0) || weights.size() == 0)
        throw std::invalid_argument(std::to_string(weights.size()) + " weights for " +
                                    std::to_string(openings.shape(0)) +
                                    " openings\n  fix: give at least one opening, and one weight for each");
    if (block_length == 0) throw std::invalid_argument("blocks of openings have no solves\n  fix: give 1 or more");
    if (solver_.last().observation().rows.size() < dimension)
        throw std::invalid_argument(std::to_string(solver_.last().observation().rows.size()) +
                                    " rows are observed, a state has " + std::to_string(dimension) +
                                    " components\n  fix: observe the row of each component first");
    lp::TrialInput trial;
    trial.states = {states.data(), states.size()};
    trial.points = points;
    trial.openings = {openings.data(), openings.size()};
    trial.weights = viewed(weights);
    trial.block_length = block_length;
    if (order) {
        check_order(*order, weights.size());
        trial.order = viewed(*order);
    }
    if (start_bases) {
        trial.start_width = check_start(*start_bases, points);
        trial.start_bases = {start_bases->data(), start_bases->size()};
        trial.is_start_shared = start_bases->shape(0) == 1;
    }
    const std::span<double> out = output<double>(std::optional(rows), "rows", points, 1 + dimension);
    if (points == 0) return {lp::Status::optimal, 0, 1};
    if (!(risk_weight >= 0.0 && risk_weight <= 1.0 && tail > 0.0 && tail <= 1.0))
        throw std::invalid_argument("the risk measure has the weight " + std::to_string(risk_weight) +
                                    " and the tail " + std::to_string(tail) +
                                    "\n  fix: give a weight from 0 to 1 and a tail above 0, at most 1");
    trial.risk_weight = risk_weight;
    trial.tail = tail;
    if (next && next->size() != 1)
        throw std::invalid_argument("the counter has " + std::to_string(next->size()) +
                                    " numbers\n  fix: give an array of one");
    lp::Outcome outcome;
    {
        const WithoutGil released;
        outcome =
            next ? lp::make_claimed_cuts(solver_, trial, out, std::atomic_ref(*next->data()), has_python_interrupt)
                 : lp::make_expected_cuts(solver_, trial, out, has_python_interrupt);
    }
    if (outcome.status == lp::Status::interrupted) throw nb::python_error();
    return {outcome.status, outcome.solved, outcome.attempts};
}

}  // namespace cobre::bindings
