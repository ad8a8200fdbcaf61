#include "lp/linearise.hpp"

#include "lp/kernels.hpp"

namespace cobre::lp {

void linearise(const TrialPoints& trial, double* rows) noexcept {
    const std::size_t d = trial.dimension;
    for (std::size_t point = 0; point < trial.points; ++point) {
        double* row = rows + point * (1 + d);
        const double* weights = trial.weights + point * trial.weight_stride;
        const double* values = trial.values + point * trial.openings;
        const double* gradient = trial.gradients + point * trial.openings * trial.gradient_stride;
        row[0] = values[0] * weights[0];
        for (std::size_t j = 0; j < d; ++j) row[1 + j] = gradient[j] * weights[0];
        for (std::size_t k = 1; k < trial.openings; ++k) {
            gradient += trial.gradient_stride;
            row[0] += values[k] * weights[k];
            add_multiple_of_any(row + 1, weights[k], gradient, d);
        }
        const double* state = trial.states + point * d;
        for (std::size_t j = 0; j < d; ++j) row[0] -= row[1 + j] * state[j];
    }
}

}  // namespace cobre::lp
