#include "lp/expected_cuts.hpp"

#include <algorithm>
#include <numeric>

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

// Each opening keeps (1 - risk weight) of its probability. The risk weight is given to the dearest ones, up to
// probability / tail of it to each, equally dear ones in their order.
const double* ExpectedCuts::weights_at(const TrialInput& trial, std::size_t point) {
    if (trial.risk_weight == 0.0) return trial.weights.data();
    const double* costs = objective_.data() + point * n_openings_;
    weights_.resize(n_openings_);
    dearest_first_.resize(n_openings_);
    std::iota(dearest_first_.begin(), dearest_first_.end(), std::size_t{0});
    std::stable_sort(dearest_first_.begin(), dearest_first_.end(),
                     [costs](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    double left = 1.0;
    for (const std::size_t opening : dearest_first_) {
        const double share = trial.weights[opening];
        const double in_tail = std::min(share / trial.tail, left);
        left -= in_tail;
        weights_[opening] = (1.0 - trial.risk_weight) * share + trial.risk_weight * in_tail;
    }
    return weights_.data();
}

void ExpectedCuts::fill_row(const TrialInput& trial, std::size_t point, std::span<double> rows) {
    const std::size_t first = point * n_openings_;
    linearise({1, n_openings_, dimension_, objective_.data() + first, dual_.data() + first * n_observed_,
               n_observed_, weights_at(trial, point), 0, trial.states.data() + point * dimension_},
              rows.data() + point * (1 + dimension_));
}

Outcome ExpectedCuts::make(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                           const std::function<bool()>& is_interrupted) {
    prepare(solver, trial);
    for (std::size_t point = 0; point < trial.points; ++point) set_parameters(trial, point);
    const Outcome outcome = solver.solve(input_, trial.block_length, output_, is_interrupted);
    if (outcome.status == Status::optimal)
        for (std::size_t point = 0; point < trial.points; ++point) fill_row(trial, point, rows);
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
        fill_row(trial, point, rows);
    }
}

}  // namespace cobre::lp
