#include "lp/reduction.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::lp {

namespace {

SparseLines scaled_rows(const Model& model, const Scaling& scaling) {
    SparseLines rows;
    for (std::size_t i = 0; i < model.rows(); ++i) {
        for (auto k = static_cast<std::size_t>(model.row_starts[i]);
             k < static_cast<std::size_t>(model.row_starts[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(model.column_indices[k]);
            if (model.values[k] != 0.0)
                rows.add(model.column_indices[k], model.values[k] * scaling.row[i] * scaling.column[j]);
        }
        rows.close_line();
    }
    return rows;
}

// Columns whose limits, if any, are the same for all parameters.
std::vector<char> columns_that_may_leave(const Model& model, const PatchPlan& plan,
                                         std::int32_t future_cost_column) {
    std::vector<char> may_be(model.columns(), 1);
    for (const std::int32_t j : plan.column_bounds()) may_be[static_cast<std::size_t>(j)] = 0;
    if (future_cost_column >= 0) may_be[static_cast<std::size_t>(future_cost_column)] = 0;
    return may_be;
}

}  // namespace

std::vector<char> equations(const Model& model, const PatchPlan& plan) {
    std::vector<char> is_equation(model.rows());
    for (std::size_t i = 0; i < model.rows(); ++i) is_equation[i] = model.row_lower[i] == model.row_upper[i];
    for (const std::int32_t i : plan.rows()) is_equation[static_cast<std::size_t>(i)] = plan.keeps_equal(i);
    return is_equation;
}

SparseLines SparseLines::transposed(std::size_t n) const {
    SparseLines result;
    std::vector<std::size_t> next(n + 1, 0);
    for (const Entry& entry : entries_) ++next[static_cast<std::size_t>(entry.index) + 1];
    for (std::size_t k = 0; k < n; ++k) next[k + 1] += next[k];
    result.starts_ = next;
    result.entries_.resize(entries_.size());
    for (std::size_t line = 0; line < size(); ++line)
        for (const Entry* e = begin(line); e != end(line); ++e)
            result.entries_[next[static_cast<std::size_t>(e->index)]++] = {static_cast<std::int32_t>(line),
                                                                           e->value};
    return result;
}

Reduction Reduction::of(const Model& model, const PatchPlan& plan, const Scaling& scaling,
                        std::int32_t future_cost_column) {
    const SparseLines all = scaled_rows(model, scaling);
    const auto may_leave = columns_that_may_leave(model, plan, future_cost_column);
    const auto is_equation = equations(model, plan);
    Reduction r;
    r.row_place.assign(model.rows(), 0);
    r.column_place.assign(model.columns(), 0);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (std::size_t i = 0; i < model.rows(); ++i) {
            if (r.row_place[i] < 0 || !is_equation[i]) continue;
            const Entry* only = nullptr;
            int open = 0;
            for (const Entry* e = all.begin(i); e != all.end(i); ++e)
                if (r.column_place[at_index(e->index)] >= 0) {
                    ++open;
                    only = e;
                }
            if (open != 1 || !may_leave[at_index(only->index)] || std::abs(only->value) < least_coefficient)
                continue;
            const std::size_t j = at_index(only->index);
            r.determined.push_back({static_cast<std::int32_t>(i), only->index, only->value,
                                    model.column_lower[j] / scaling.column[j],
                                    model.column_upper[j] / scaling.column[j]});
            r.row_place[i] = -1;
            r.column_place[j] = -1;
            has_changed = true;
        }
    }
    r.find_dependent(model, plan, all, may_leave, is_equation);
    r.place(all);
    return r;
}

// Columns without a cost of their own that stand in one row only, an equation, if their limits can hardly bind:
// all terms of the equation have the sign that the column may have. A row defines one column, the first.
void Reduction::find_dependent(const Model& model, const PatchPlan& plan, const SparseLines& all,
                               const std::vector<char>& may_leave, const std::vector<char>& is_equation) {
    std::vector<char> has_cost(model.columns());
    for (std::size_t j = 0; j < model.columns(); ++j) has_cost[j] = model.cost[j] != 0.0;
    for (const std::int32_t j : plan.column_costs()) has_cost[at_index(j)] = 1;
    const auto grows_with = [&](const Entry& term, double coefficient) {
        const std::size_t k = at_index(term.index);
        const bool is_growing = term.value * coefficient < 0.0;
        return may_leave[k] != 0 && (is_growing ? model.column_lower[k] : model.column_upper[k]) == 0.0;
    };
    std::vector<char> is_taken(model.rows(), 0);
    const SparseLines columns = all.transposed(model.columns());
    for (std::size_t j = 0; j < model.columns(); ++j) {
        if (column_place[j] < 0 || !may_leave[j] || has_cost[j] || model.column_upper[j] != INFINITY) continue;
        const Entry* only = nullptr;
        int open = 0;
        for (const Entry* e = columns.begin(j); e != columns.end(j); ++e)
            if (row_place[at_index(e->index)] >= 0) {
                ++open;
                only = e;
            }
        if (open != 1 || !is_equation[at_index(only->index)] || is_taken[at_index(only->index)] ||
            std::abs(only->value) < least_coefficient)
            continue;
        const std::size_t i = at_index(only->index);
        const bool is_bounded = model.column_lower[j] != -INFINITY;
        if (is_bounded && !std::all_of(all.begin(i), all.end(i), [&](const Entry& e) {
                return column_place[at_index(e.index)] < 0 || at_index(e.index) == j || grows_with(e, only->value);
            }))
            continue;
        is_taken[i] = 1;
        dependent.push_back({only->index, static_cast<std::int32_t>(j), only->value});
    }
    for (const Dependent& each : dependent) column_place[at_index(each.column)] = -1;
}

// What is left gets its places.
void Reduction::place(const SparseLines& all) {
    for (std::size_t j = 0; j < column_place.size(); ++j) {
        if (column_place[j] < 0) continue;
        column_place[j] = static_cast<std::int32_t>(columns.size());
        columns.push_back(static_cast<std::int32_t>(j));
    }
    std::vector<std::int32_t> own(row_place.size(), -1);
    std::vector<double> divisor(row_place.size(), 1.0);
    for (const Determined& each : determined) own[at_index(each.row)] = each.column;
    for (const Dependent& each : dependent) {
        own[at_index(each.row)] = each.column;
        divisor[at_index(each.row)] = -each.coefficient;
    }
    for (std::size_t i = 0; i < row_place.size(); ++i) {
        for (const Entry* e = all.begin(i); e != all.end(i); ++e) {
            const std::int32_t place = column_place[at_index(e->index)];
            if (place >= 0) by_row.add(place, e->value / divisor[i]);
            else if (e->index != own[i]) given.add(e->index, e->value);
        }
        given.close_line();
        if (row_place[i] < 0) continue;
        row_place[i] = static_cast<std::int32_t>(rows.size());
        rows.push_back(static_cast<std::int32_t>(i));
        by_row.close_line();
    }
    by_column = by_row.transposed(columns.size());
    given_by_column = given.transposed(column_place.size());
}

double Reduction::given_part(std::size_t row, std::span<const double> primal) const noexcept {
    double sum = 0.0;
    for (const Entry* e = given.begin(row); e != given.end(row); ++e)
        sum += e->value * primal[static_cast<std::size_t>(e->index)];
    return sum;
}

bool Reduction::determine(std::span<const double> row_side, std::span<double> primal,
                          double tolerance) const noexcept {
    bool is_within = true;
    for (const Determined& each : determined) {
        const auto row = static_cast<std::size_t>(each.row);
        const double value = (row_side[row] - given_part(row, primal)) / each.coefficient;
        primal[static_cast<std::size_t>(each.column)] = value;
        is_within &= each.lower - value <= slack_of(tolerance, each.lower);
        is_within &= value - each.upper <= slack_of(tolerance, each.upper);
    }
    return is_within;
}

}  // namespace cobre::lp
