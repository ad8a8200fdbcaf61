// A linear program in the caller's units, and the rule by which the parameters of one solve change it:
//
//     min c x   with   row_lower <= A x <= row_upper,   column_lower <= x <= column_upper
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cobre::lp {

struct Model {
    std::vector<double> cost;
    std::vector<double> column_lower;
    std::vector<double> column_upper;
    std::vector<double> row_lower;
    std::vector<double> row_upper;
    std::vector<std::int32_t> row_starts;  // by rows, rows() + 1 of them
    std::vector<std::int32_t> column_indices;
    std::vector<double> values;

    std::size_t columns() const noexcept { return cost.size(); }
    std::size_t rows() const noexcept { return row_lower.size(); }
    // Throws std::invalid_argument: sizes, indices, order, NaN, infinite coefficients, crossing bounds.
    void check() const;
};

enum class Target : std::uint8_t { row_equal, row_lower, row_upper, column_lower, column_upper, column_cost };
inline constexpr std::uint8_t n_targets = 6;

// Adds offset + factor * parameters[source] to the value of one target. A target with several of them gets their
// sum, taken in this order; a target with none keeps the model's value.
struct Patch {
    Target target;
    std::int32_t index;
    std::int32_t source;
    double offset;
    double factor;
};

class PatchPlan {
public:
    // Throws std::invalid_argument: an index outside the model, a row patched as equal and as lower or upper.
    PatchPlan(std::span<const Patch> patches, const Model& model, std::size_t n_parameters);

    std::size_t n_parameters() const noexcept { return n_parameters_; }
    // Ascending: what `apply` may change.
    std::span<const std::int32_t> rows() const noexcept { return rows_; }
    std::span<const std::int32_t> column_bounds() const noexcept { return column_bounds_; }
    std::span<const std::int32_t> column_costs() const noexcept { return column_costs_; }
    // Whether a patched row is an equation for all parameters.
    bool keeps_equal(std::int32_t row) const noexcept { return is_equal_[static_cast<std::size_t>(row)] != 0; }

    // Writes the values into `model`. False if one of them is NaN, or infinite where that has no meaning.
    bool apply(std::span<const double> parameters, Model& model) const noexcept;

private:
    struct Group {
        Target target;
        std::int32_t index;
        std::size_t begin;
        std::size_t end;
    };
    struct Term {
        std::int32_t source;
        double offset;
        double factor;
    };
    std::size_t n_parameters_;
    std::vector<Group> groups_;
    std::vector<Term> terms_;
    std::vector<std::int32_t> rows_;
    std::vector<std::int32_t> column_bounds_;
    std::vector<std::int32_t> column_costs_;
    std::vector<char> is_equal_;  // by row: patched as an equation
};

}  // namespace cobre::lp
