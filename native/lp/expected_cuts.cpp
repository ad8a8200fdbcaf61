#include "lp/expected_cuts.hpp"

#include <algorithm>

#include "lp/linearise.hpp"
#include "lp/stop_watch.hpp"

namespace cobre::lp {

void ExpectedCuts::prepare(const ParallelSolver& solver, const TrialInput& trial) {
    const Observation& observed = solver.last().observation();
    n_openings_ = trial.weights.size();
    dimension_ = trial.states.size() / trial.points;
    width_ = trial.openings.size() / n_openings_;
    n_observed_ = observed.rows.size();
    const std::size_t solves = trial.points * n_openings_;
    parameters_.resize(solves * (dimension_ + width_));
    objective_.resize(solves);
    primal_.resize(solves * observed.columns.size());
    dual_.resize(solves * n_observed_);
    input_ = {};
    input_.parameters = parameters_;
    input_.solves = solves;
    input_.chain_length = n_openings_;
    input_.start_bases = trial.start_bases;
    input_.start_width = trial.start_width;
    input_.is_start_shared = trial.is_start_shared;
    input_.order = trial.order;
    output_ = {};
    output_.objective = objective_;
    output_.observed_primal = primal_;
    output_.observed_dual = dual_;
}

void ExpectedCuts::set_parameters(const TrialInput& trial, std::size_t point) {
    double* parameters = parameters_.data() + point * n_openings_ * (dimension_ + width_);
    for (std::size_t opening = 0; opening < n_openings_; ++opening) {
        parameters = std::copy_n(trial.states.data() + point * dimension_, dimension_, parameters);
        parameters = std::copy_n(trial.openings.data() + opening * width_, width_, parameters);
    }
}

void ExpectedCuts::fill_rows(const TrialInput& trial, std::size_t point, std::size_t points,
                             std::span<double> rows) const {
    const std::size_t first = point * n_openings_;
    linearise({points, n_openings_, dimension_, objective_.data() + first, dual_.data() + first * n_observed_,
               n_observed_, trial.weights.data(), 0, trial.states.data() + point * dimension_},
              rows.data() + point * (1 + dimension_));
}

Outcome ExpectedCuts::make(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                           const std::function<bool()>& is_interrupted) {
    prepare(solver, trial);
    for (std::size_t point = 0; point < trial.points; ++point) set_parameters(trial, point);
    const Outcome outcome = solver.solve(input_, trial.block_length, output_, is_interrupted);
    if (outcome.status == Status::optimal) fill_rows(trial, 0, trial.points, rows);
    return outcome;
}

Outcome ExpectedCuts::make_claimed(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                                   std::atomic_ref<std::int64_t> next,
                                   const std::function<bool()>& is_interrupted) {
    prepare(solver, trial);
    solver.set_last(0);
    Solver& own = solver.solver_of(0);
    std::int64_t asked_ns = now_ns();
    for (;;) {
        const auto point = static_cast<std::size_t>(next.fetch_add(1, std::memory_order_relaxed));
        if (point >= trial.points) return {};
        set_parameters(trial, point);
        Outcome outcome = own.solve(input_, {point, 0, n_openings_, {}}, output_, is_interrupted);
        const std::int64_t now = now_ns();
        if (outcome.status == Status::optimal && now - asked_ns > interrupt_interval_ns) {
            asked_ns = now;
            if (is_interrupted()) outcome.status = Status::interrupted;
        }
        if (outcome.status != Status::optimal) return outcome;
        fill_rows(trial, point, 1, rows);
    }
}

}  // namespace cobre::lp
