// The scaled program without the rows that only fix a column, and without columns that one row defines.
//
// A stage takes its incoming state and its inflow through equations of one column each: x_in = state. Such a row
// determines its column before any optimisation, and with it perhaps a column of another row: what a thermal with
// lead time delivers. The rest is a smaller program with the same solutions, if what is determined is within its
// limits; the duals of the rows left out follow from those of the others.
//
// Water that will arrive later is a column with an equation of its own: what was under way before, and shares of
// what is released. Apart from cuts nothing refers to it. Such a column is the activity of its row, but for a
// constant. It leaves the program and its limits become those of the row, which then is an equation no longer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lp/model.hpp"
#include "lp/scaling.hpp"
#include "lp/sparse.hpp"

namespace cobre::lp {

// By how much a scaled value may pass a limit. Large limits leave room for the rounding of their own digits.
inline double slack_of(double tolerance, double limit) noexcept {
    return tolerance * std::max(1.0, 1e-4 * std::abs(limit));
}

// Below this a coefficient is no safe divisor: the scaled ones lie around 1.
inline constexpr double least_coefficient = 1e-6;

// By row: whether it is an equation for all parameters.
std::vector<char> equations(const Model& model, const PatchPlan& plan);

struct Reduction {
    struct Determined {
        std::int32_t row;
        std::int32_t column;
        double coefficient;
        double lower, upper;  // limits of the column
    };
    // x[column] = constant + activity of the row, whose other terms are divided by -coefficient.
    struct Dependent {
        std::int32_t row;
        std::int32_t column;
        double coefficient;
    };
    std::vector<Determined> determined;  // each needs only columns that come before it
    std::vector<Dependent> dependent;    // ascending by column
    std::vector<std::int32_t> rows;      // those that stay, ascending
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> row_place;  // of each row of the template among those that stay, or -1
    std::vector<std::int32_t> column_place;
    SparseLines by_row;     // what stays, in places
    SparseLines by_column;  // the same
    SparseLines given;      // of each row of the template, the other columns that are determined
    SparseLines given_by_column;

    // `future_cost_column` always stays; -1 for none.
    static Reduction of(const Model& model, const PatchPlan& plan, const Scaling& scaling,
                        std::int32_t future_cost_column);

    // Values of determined columns into `primal` (template's columns, scaled) for scaled right-hand sides. False
    // if one is beyond its limits by more than `slack_of` the tolerance: there is no solution.
    bool determine(std::span<const double> row_side, std::span<double> primal, double tolerance) const noexcept;
    // What the determined columns contribute to a row of the template.
    double given_part(std::size_t row, std::span<const double> primal) const noexcept;

private:
    void find_dependent(const Model& model, const PatchPlan& plan, const SparseLines& all,
                        const std::vector<char>& may_leave, const std::vector<char>& is_equation);
    void place(const SparseLines& all);
};

}  // namespace cobre::lp
