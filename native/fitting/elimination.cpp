#include "fitting/elimination.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::fitting {

namespace {

constexpr double smallest_pivot = 0x1p-52;

// One system: `a` is k x k, `b` is k x m. Returns whether it is singular.
bool solve_one(double* a, double* b, std::size_t k, std::size_t m) noexcept {
    for (std::size_t column = 0; column < k; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < k; ++row) {
            if (std::fabs(a[row * k + column]) > std::fabs(a[pivot * k + column])) pivot = row;
        }
        if (!(std::fabs(a[pivot * k + column]) >= smallest_pivot)) return true;
        if (pivot != column) {
            std::swap_ranges(a + column * k, a + (column + 1) * k, a + pivot * k);
            std::swap_ranges(b + column * m, b + (column + 1) * m, b + pivot * m);
        }
        const double* const head = a + column * k;
        for (std::size_t row = column + 1; row < k; ++row) {
            double* const tail = a + row * k;
            const double factor = tail[column] / head[column];
            if (factor == 0.0) continue;
            for (std::size_t j = column; j < k; ++j) tail[j] -= factor * head[j];
            for (std::size_t j = 0; j < m; ++j) b[row * m + j] -= factor * b[column * m + j];
        }
    }
    for (std::size_t row = k; row-- > 0;) {
        for (std::size_t j = 0; j < m; ++j) {
            double value = b[row * m + j];
            for (std::size_t column = row + 1; column < k; ++column)
                value -= a[row * k + column] * b[column * m + j];
            b[row * m + j] = value / a[row * k + row];
        }
    }
    return false;
}

}  // namespace

void solve(Systems systems, std::span<double> matrices, std::span<double> right,
           std::span<std::uint8_t> is_singular) noexcept {
    const auto [count, k, m] = systems;
    for (std::size_t i = 0; i < count; ++i) {
        is_singular[i] = solve_one(&matrices[i * k * k], &right[i * k * m], k, m) ? 1 : 0;
    }
}

}  // namespace cobre::fitting
