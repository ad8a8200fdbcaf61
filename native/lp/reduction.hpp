// The scaled program without the rows that only fix a column.
//
// A stage takes its incoming state and its inflow through equations of one free column each: x_in = state. Such a
// row determines its column before any optimisation, and with it perhaps a column of another row. The rest is a
// smaller program with the same solutions; the duals of the rows left out follow from those of the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lp/model.hpp"
#include "lp/scaling.hpp"
#include "lp/sparse.hpp"

namespace cobre::lp {

struct Reduction {
    struct Determined {
        std::int32_t row;
        std::int32_t column;
        double coefficient;
    };
    std::vector<Determined> determined;  // each needs only columns that come before it
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

    // Values of determined columns into `primal` (template's columns, scaled) for scaled right-hand sides.
    void determine(std::span<const double> row_side, std::span<double> primal) const noexcept;
    // What the determined columns contribute to a row of the template.
    double given_part(std::size_t row, std::span<const double> primal) const noexcept;
};

}  // namespace cobre::lp
