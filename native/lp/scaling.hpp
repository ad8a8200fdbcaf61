// One scaling per template, by powers of two: multiplying by them rounds nothing, so that a scaled program has
// exactly the solutions of the caller's.
#pragma once

#include <span>
#include <vector>

#include "lp/model.hpp"

namespace cobre::lp {

struct Scaling {
    std::vector<double> row;     // scaled row = factor * row
    std::vector<double> column;  // scaled column value = value / factor
    double cost = 1.0;           // scaled objective = factor * objective

    // The factors depend on the matrix and the costs alone, never on what parameters or cuts do later.
    // `future_cost_column` is given the unit of the scaled objective; -1 for none.
    static Scaling of(const Model& model, std::int32_t future_cost_column);
};

// The power of two nearest to 1 / max |value| in logarithms; 1 if all are zero.
double inverse_of_largest(std::span<const double> values) noexcept;

}  // namespace cobre::lp
