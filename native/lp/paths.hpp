// The forward pass of a study: paths through consecutive stages, each solve with the state that the one before
// left.
//
// Paths do not depend on each other, so that threads take a whole path each and meet once, at the end.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "lp/parallel_solver.hpp"

namespace cobre::lp {

// One stage with the solves of all paths in it, all arrays row by row.
struct PathStage {
    ParallelSolver* solver = nullptr;
    std::span<double> parameters;  // [path, parameter]: first the incoming state, which the stage before fills in
    std::span<const std::uint8_t> start_bases;  // one per path, or empty
    std::size_t start_width = 0;
    std::span<const double> low, high;  // limits of the outgoing state: the first observed columns
    std::span<double> objective;        // [path]
    std::span<double> next;             // [path]: the observed column after the state
    std::span<double> states;           // [path, component]
    std::span<std::uint8_t> bases;      // one per path
};

struct PathOutcome {
    std::size_t stage = 0;
    Outcome outcome;  // `solved` is the path
};

// Bits are those of solving one stage for all paths, then the next. Of the solves without an optimum the first
// one in that order is told. Paths are shared by the threads of the first stage's solver.
PathOutcome follow_paths(std::span<const PathStage> stages, std::size_t paths,
                         const std::function<bool()>& is_interrupted);

}  // namespace cobre::lp
