// The backward pass of a stage in one call: all openings at all trial points, and the cut of their expectation, or
// of a part of it and of the mean of the dearest ones (CVaR), which is an expectation under other probabilities.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lp/parallel_solver.hpp"

namespace cobre::lp {

struct TrialInput {
    std::span<const double> states;  // [point, component]
    std::size_t points = 0;
    std::span<const double> openings;     // [opening, value]; parameters of a solve are a state and an opening
    std::span<const double> weights;      // [opening]: probabilities
    double risk_weight = 0.0;             // of the CVaR; 0: the plain expectation
    double tail = 1.0;                    // the share of the dearest openings that the CVaR is the mean of
    std::size_t block_length = 1;         // of the openings of a point, as in `ParallelSolver::solve`
    std::span<const std::int32_t> order;  // of the openings
    std::span<const std::uint8_t> start_bases;  // one per point, one for all, or empty
    std::size_t start_width = 0;
    bool is_start_shared = false;
};

// rows[point] = intercept, then coefficients: the sum over the openings, one after the other, of what the solver's
// first observed rows say about each component of the state.
Outcome make_expected_cuts(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                           const std::function<bool()>& is_interrupted);

// The same for the points that this process claims from a counter in memory of several processes, which begins
// with 0; `block_length` has no part. Bits are those of `make_expected_cuts` with all openings of a point in one
// block.
Outcome make_claimed_cuts(ParallelSolver& solver, const TrialInput& trial, std::span<double> rows,
                          std::atomic_ref<std::int64_t> next, const std::function<bool()>& is_interrupted);

}  // namespace cobre::lp
