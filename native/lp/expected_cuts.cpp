#include "lp/expected_cuts.hpp"

#include <algorithm>

#include "lp/linearise.hpp"

namespace cobre::lp {

Outcome ExpectedCuts::make(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                           const std::function<bool()>& is_interrupted) {
    const Observation& observed = solver.last().observation();
    const std::size_t n_openings = trial.weights.size();
    const std::size_t dimension = trial.states.size() / trial.points;
    const std::size_t width = trial.openings.size() / n_openings;
    const std::size_t solves = trial.points * n_openings;
    n_parameters_ = dimension + width;
    parameters_.resize(solves * n_parameters_);
    objective_.resize(solves);
    primal_.resize(solves * observed.columns.size());
    dual_.resize(solves * observed.rows.size());
    double* parameters = parameters_.data();
    for (std::size_t point = 0; point < trial.points; ++point)
        for (std::size_t opening = 0; opening < n_openings; ++opening) {
            parameters = std::copy_n(trial.states.data() + point * dimension, dimension, parameters);
            parameters = std::copy_n(trial.openings.data() + opening * width, width, parameters);
        }
    BatchInput input;
    input.parameters = parameters_;
    input.solves = solves;
    input.chain_length = n_openings;
    input.start_bases = trial.start_bases;
    input.start_width = trial.start_width;
    input.is_start_shared = trial.is_start_shared;
    input.order = trial.order;
    BatchOutput output;
    output.objective = objective_;
    output.observed_primal = primal_;
    output.observed_dual = dual_;
    const Outcome outcome = solver.solve(input, trial.block_length, output, is_interrupted);
    if (outcome.status == Status::optimal)
        linearise({trial.points, n_openings, dimension, objective_.data(), dual_.data(), observed.rows.size(),
                   trial.weights.data(), 0, trial.states.data()},
                  rows.data());
    return outcome;
}

}  // namespace cobre::lp
