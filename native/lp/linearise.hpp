// The cut of a trial point: what its openings cost, weighted, as a linear function of the state.
#pragma once

#include <cstddef>

namespace cobre::lp {

// For each of `points` trial points, all arrays row by row; lengths in numbers.
struct TrialPoints {
    std::size_t points, openings, dimension;
    const double* values;     // [point, opening]: the cost at the trial point
    const double* gradients;  // [point, opening, dimension], an opening every `gradient_stride`
    std::size_t gradient_stride;
    const double* weights;  // [point, opening], or of one point for all of them: then the stride is 0
    std::size_t weight_stride;
    const double* states;  // [point, dimension]
};

// rows[point] = intercept, then coefficients. Openings are added one after the other, each product rounded by
// itself, then the terms of the state are taken away one after the other: the bits of a point do not depend on the
// others.
void linearise(const TrialPoints& trial, double* rows) noexcept;

}  // namespace cobre::lp
