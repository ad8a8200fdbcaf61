#include "lp/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::lp {

namespace {

constexpr int passes = 4;
constexpr int largest_exponent = 40;

// Exponents, not logarithms: frexp and ldexp are exact, so that every machine finds the same factors.
int exponent_of(double value) noexcept {
    int exponent = 0;
    std::frexp(value, &exponent);
    return exponent - 1;
}

struct Range {
    int low = 4096;
    int high = -4096;
    void include(int exponent) noexcept {
        low = std::min(low, exponent);
        high = std::max(high, exponent);
    }
    bool is_empty() const noexcept { return low > high; }
    // The exponent of sqrt(min * max), rounded towards minus infinity.
    int middle() const noexcept {
        const int sum = low + high;
        return sum >= 0 ? sum / 2 : -((-sum + 1) / 2);
    }
};

int limited(int exponent) noexcept { return std::clamp(exponent, -largest_exponent, largest_exponent); }

}  // namespace

Scaling Scaling::of(const Model& model, std::int32_t future_cost_column) {
    std::vector<int> rows(model.rows(), 0);
    std::vector<int> columns(model.columns(), 0);
    for (int pass = 0; pass < passes; ++pass) {
        std::vector<Range> by_column(model.columns());
        for (std::size_t i = 0; i < model.rows(); ++i) {
            Range range;
            for (auto k = static_cast<std::size_t>(model.row_starts[i]);
                 k < static_cast<std::size_t>(model.row_starts[i + 1]); ++k) {
                if (model.values[k] == 0.0) continue;
                range.include(exponent_of(model.values[k]) +
                              columns[static_cast<std::size_t>(model.column_indices[k])]);
            }
            if (!range.is_empty()) rows[i] = limited(-range.middle());
            for (auto k = static_cast<std::size_t>(model.row_starts[i]);
                 k < static_cast<std::size_t>(model.row_starts[i + 1]); ++k) {
                if (model.values[k] == 0.0) continue;
                by_column[static_cast<std::size_t>(model.column_indices[k])].include(exponent_of(model.values[k]) +
                                                                                     rows[i]);
            }
        }
        for (std::size_t j = 0; j < model.columns(); ++j)
            if (!by_column[j].is_empty()) columns[j] = limited(-by_column[j].middle());
    }

    Range costs;
    for (std::size_t j = 0; j < model.columns(); ++j) {
        if (model.cost[j] == 0.0 || static_cast<std::int32_t>(j) == future_cost_column) continue;
        costs.include(exponent_of(model.cost[j]) + columns[j]);
    }
    const int cost = costs.is_empty() ? 0 : limited(-costs.middle());
    if (future_cost_column >= 0) {
        const auto theta = static_cast<std::size_t>(future_cost_column);
        const int own = model.cost[theta] == 0.0 ? 0 : exponent_of(model.cost[theta]);
        columns[theta] = limited(-cost - own);
    }

    Scaling scaling;
    scaling.cost = std::ldexp(1.0, cost);
    for (const int exponent : rows) scaling.row.push_back(std::ldexp(1.0, exponent));
    for (const int exponent : columns) scaling.column.push_back(std::ldexp(1.0, exponent));
    return scaling;
}

double inverse_of_largest(std::span<const double> values) noexcept {
    double largest = 0.0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest == 0.0 ? 1.0 : std::ldexp(1.0, limited(-exponent_of(largest)));
}

}  // namespace cobre::lp
