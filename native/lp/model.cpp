#include "lp/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace cobre::lp {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

void check_bounds(std::span<const double> lower, std::span<const double> upper, const char* what) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
        if (std::isnan(lower[i]) || std::isnan(upper[i]) || lower[i] > upper[i] || lower[i] == INFINITY ||
            upper[i] == -INFINITY)
            refuse(std::string(what) + " " + std::to_string(i) + " has the bounds " + std::to_string(lower[i]) +
                   " and " + std::to_string(upper[i]) +
                   "\n  fix: give a lower bound that is not above the upper one, -inf and inf for none");
    }
}

void collect(std::vector<std::int32_t>& indices) {
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

// False for a value that the target cannot have.
bool store(Target target, std::size_t index, double value, Model& model) noexcept {
    const auto put = [index, value](std::vector<double>& numbers) { return numbers[index] = value; };
    switch (target) {
        case Target::row_equal: put(model.row_lower); return std::isfinite(put(model.row_upper));
        case Target::row_lower: return put(model.row_lower) < INFINITY;
        case Target::row_upper: return put(model.row_upper) > -INFINITY;
        case Target::column_lower: return put(model.column_lower) < INFINITY;
        case Target::column_upper: return put(model.column_upper) > -INFINITY;
        case Target::column_cost: return std::isfinite(put(model.cost));
    }
    return false;
}

}  // namespace

void Model::check() const {
    if (columns() == 0) refuse("the template has no columns\n  fix: give it at least one");
    if (column_lower.size() != columns() || column_upper.size() != columns() || row_upper.size() != rows() ||
        row_starts.size() != rows() + 1 || column_indices.size() != values.size())
        refuse(
            "the arrays of the template differ in length\n  fix: three of n columns, two of m rows, m + 1 row "
            "starts, and as many column indices as values");
    for (std::size_t j = 0; j < columns(); ++j) {
        if (!std::isfinite(cost[j]))
            refuse("column " + std::to_string(j) + " has the cost " + std::to_string(cost[j]) +
                   "\n  fix: costs must be finite");
    }
    check_bounds(column_lower, column_upper, "column");
    check_bounds(row_lower, row_upper, "row");
    if (row_starts.front() != 0 || static_cast<std::size_t>(row_starts.back()) != values.size())
        refuse("row_starts must begin with 0 and end with the number of values, " + std::to_string(values.size()) +
               "\n  fix: give the matrix in compressed sparse row form");
    std::vector<std::int32_t> last_row(columns(), -1);
    for (std::size_t i = 0; i < rows(); ++i) {
        if (row_starts[i] > row_starts[i + 1])
            refuse("row_starts decreases at row " + std::to_string(i) + "\n  fix: give ascending starts");
        for (auto k = static_cast<std::size_t>(row_starts[i]); k < static_cast<std::size_t>(row_starts[i + 1]);
             ++k) {
            const std::int32_t j = column_indices[k];
            if (j < 0 || static_cast<std::size_t>(j) >= columns())
                refuse("row " + std::to_string(i) + " refers to column " + std::to_string(j) + " of " +
                       std::to_string(columns()) + "\n  fix: column indices run from 0 to n - 1");
            if (last_row[static_cast<std::size_t>(j)] == static_cast<std::int32_t>(i))
                refuse("row " + std::to_string(i) + " names column " + std::to_string(j) +
                       " twice\n  fix: add the coefficients up");
            last_row[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(i);
            if (!std::isfinite(values[k]))
                refuse("row " + std::to_string(i) + ", column " + std::to_string(j) + " has the coefficient " +
                       std::to_string(values[k]) + "\n  fix: coefficients must be finite");
        }
    }
}

PatchPlan::PatchPlan(std::span<const Patch> patches, const Model& model, std::size_t n_parameters)
    : n_parameters_(n_parameters) {
    std::vector<std::size_t> order(patches.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    // Stable: the terms of one target keep the caller's order, in which they are added.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(patches[a].target, patches[a].index) < std::pair(patches[b].target, patches[b].index);
    });
    is_equal_.assign(model.rows(), 0);
    for (const std::size_t k : order) {
        const Patch& patch = patches[k];
        const bool is_row = patch.target <= Target::row_upper;
        const std::size_t size = is_row ? model.rows() : model.columns();
        if (patch.index < 0 || static_cast<std::size_t>(patch.index) >= size)
            refuse("patch " + std::to_string(k) + " changes " + (is_row ? "row " : "column ") +
                   std::to_string(patch.index) + " of " + std::to_string(size) + "\n  fix: indices run from 0");
        if (patch.source < 0 || static_cast<std::size_t>(patch.source) >= n_parameters)
            refuse("patch " + std::to_string(k) + " reads parameter " + std::to_string(patch.source) + " of " +
                   std::to_string(n_parameters) + "\n  fix: parameters run from 0 to n_parameters - 1");
        if (!std::isfinite(patch.offset) || !std::isfinite(patch.factor))
            refuse("patch " + std::to_string(k) +
                   " has a factor or an offset that is not finite\n  fix: correct it");
        const auto index = static_cast<std::size_t>(patch.index);
        if (patch.target == Target::row_equal) is_equal_[index] = 1;
        if ((patch.target == Target::row_lower || patch.target == Target::row_upper) && is_equal_[index] != 0)
            refuse("row " + std::to_string(index) +
                   " is patched as equal and as a bound\n  fix: use one of the two");
        if (groups_.empty() || groups_.back().target != patch.target || groups_.back().index != patch.index)
            groups_.push_back({patch.target, patch.index, terms_.size(), terms_.size()});
        terms_.push_back({patch.source, patch.offset, patch.factor});
        groups_.back().end = terms_.size();
        if (is_row) rows_.push_back(patch.index);
        else if (patch.target == Target::column_cost) column_costs_.push_back(patch.index);
        else column_bounds_.push_back(patch.index);
    }
    collect(rows_);
    collect(column_bounds_);
    collect(column_costs_);
}

bool PatchPlan::apply(std::span<const double> parameters, Model& model) const noexcept {
    bool is_good = true;
    for (const Group& group : groups_) {
        double value = 0.0;
        for (std::size_t k = group.begin; k < group.end; ++k) {
            const Term& term = terms_[k];
            value += term.offset + term.factor * parameters[static_cast<std::size_t>(term.source)];
        }
        is_good &= store(group.target, static_cast<std::size_t>(group.index), value, model);
    }
    return is_good;
}

}  // namespace cobre::lp
