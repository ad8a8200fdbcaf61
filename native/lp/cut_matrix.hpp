// The active cuts of a program as scaled rows, stored so that all of them are evaluated at once.
//
// Row k is: sum_j entry(j, k) * x[column j] >= lower(k), the future cost among its columns. The values of one
// column lie together, cuts as lanes: each cut adds its terms in the order of the columns, whatever the lanes. A
// dependent column stands there as the activity of the row that defines it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lp/cuts.hpp"
#include "lp/reduction.hpp"
#include "lp/scaling.hpp"

namespace cobre::lp {

class CutMatrix {
public:
    CutMatrix(std::span<const std::int32_t> cut_columns, std::int32_t future_cost_column,
              const Reduction& reduction, const Scaling& scaling);

    std::size_t size() const noexcept { return slots_.size(); }
    std::int32_t slot(std::size_t k) const noexcept { return slots_[k]; }
    // The row of an active slot, or -1.
    std::int32_t row_of(std::size_t slot) const noexcept { return slot < rows_.size() ? rows_[slot] : -1; }
    double lower(std::size_t k) const noexcept { return lower_[k]; }
    double scale(std::size_t k) const noexcept { return scale_[k]; }
    // Columns that stay in the reduced program, by place; the future cost is the first.
    std::span<const std::int32_t> columns() const noexcept { return columns_; }
    // Rows that define dependent columns, by place.
    std::span<const std::int32_t> defining_rows() const noexcept { return defining_rows_; }
    // Columns that leave the program, by index of the template: those of defining_rows(), then determined ones.
    std::span<const std::int32_t> left_columns() const noexcept { return left_columns_; }
    // Of columns(), then of defining_rows().
    double entry(std::size_t j, std::size_t k) const noexcept { return entries_[j][k]; }
    double left_entry(std::size_t j, std::size_t k) const noexcept { return entries_[columns_.size() + j][k]; }

    // For `n` more cuts of a pool that then has `slots`: adding them allocates nothing more.
    void make_room(std::size_t n, std::size_t slots);
    // Adds the pool's active slots from `first_slot` on.
    void append(const CutPool& pool, std::size_t first_slot);
    void rebuild(const CutPool& pool);

    // out[k] = lower(k) - what is known of left_columns() contributes: the value of a determined one, the constant
    // of a dependent one. `primal` by index of the template, scaled.
    void open_sides(std::span<const double> primal, std::vector<double>& out) const;
    // How much each cut is violated where it was looked at last; memory of the caller.
    struct Evaluation {
        std::vector<double> violations;
        std::vector<double>
            x;  // of columns() and defining_rows(); empty: the next evaluation begins with the sides
        std::vector<double> factors;
        std::vector<const double*> changed;
    };
    // The cut that `x` and the rows' `activity` (by place) violate most, by how much; the first of equals. -1 if
    // they violate none. Only columns that have changed since the evaluation before are added up.
    std::int32_t most_violated(std::span<const double> x, std::span<const double> activity,
                               std::span<const double> sides, Evaluation& before, double& violation) const;

private:
    struct Source {
        std::size_t coefficient;  // of the cut as the caller gave it; not used for the future cost
        double scale;
    };
    std::vector<std::int32_t> columns_;
    std::vector<std::int32_t> defining_rows_;
    std::vector<std::int32_t> left_columns_;
    std::vector<Source> sources_;  // of each stored column
    std::vector<double> row_;      // memory for one row
    std::vector<std::int32_t> slots_;
    std::vector<std::int32_t> rows_;  // by slot
    std::vector<double> lower_;
    std::vector<double> scale_;
    std::vector<std::vector<double>> entries_;  // by stored column: columns(), then left_columns()
};

}  // namespace cobre::lp
