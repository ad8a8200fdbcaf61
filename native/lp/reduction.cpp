#include "lp/reduction.hpp"

#include <cmath>

namespace cobre::lp {

namespace {

// Below this a coefficient is no safe divisor: the scaled ones lie around 1.
constexpr double least_coefficient = 1e-6;

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
std::vector<char> columns_to_determine(const Model& model, const PatchPlan& plan,
                                       std::int32_t future_cost_column) {
    std::vector<char> may_be(model.columns(), 1);
    for (const std::int32_t j : plan.column_bounds()) may_be[static_cast<std::size_t>(j)] = 0;
    if (future_cost_column >= 0) may_be[static_cast<std::size_t>(future_cost_column)] = 0;
    return may_be;
}

std::vector<char> equations(const Model& model, const PatchPlan& plan) {
    std::vector<char> is_equation(model.rows());
    for (std::size_t i = 0; i < model.rows(); ++i) is_equation[i] = model.row_lower[i] == model.row_upper[i];
    for (const std::int32_t i : plan.rows()) is_equation[static_cast<std::size_t>(i)] = plan.keeps_equal(i);
    return is_equation;
}

}  // namespace

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
    const auto may_be_determined = columns_to_determine(model, plan, future_cost_column);
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
                if (r.column_place[static_cast<std::size_t>(e->index)] >= 0) {
                    ++open;
                    only = e;
                }
            if (open != 1 || !may_be_determined[static_cast<std::size_t>(only->index)] ||
                std::abs(only->value) < least_coefficient)
                continue;
            const auto j = static_cast<std::size_t>(only->index);
            r.determined.push_back({static_cast<std::int32_t>(i), only->index, only->value,
                                    model.column_lower[j] / scaling.column[j],
                                    model.column_upper[j] / scaling.column[j]});
            r.row_place[i] = -1;
            r.column_place[static_cast<std::size_t>(only->index)] = -1;
            has_changed = true;
        }
    }
    for (std::size_t j = 0; j < model.columns(); ++j) {
        if (r.column_place[j] < 0) continue;
        r.column_place[j] = static_cast<std::int32_t>(r.columns.size());
        r.columns.push_back(static_cast<std::int32_t>(j));
    }
    std::vector<std::int32_t> own(model.rows(), -1);
    for (const Determined& each : r.determined) own[static_cast<std::size_t>(each.row)] = each.column;
    for (std::size_t i = 0; i < model.rows(); ++i) {
        for (const Entry* e = all.begin(i); e != all.end(i); ++e) {
            const std::int32_t place = r.column_place[static_cast<std::size_t>(e->index)];
            if (place >= 0) r.by_row.add(place, e->value);
            else if (e->index != own[i]) r.given.add(e->index, e->value);
        }
        r.given.close_line();
        if (r.row_place[i] < 0) continue;
        r.row_place[i] = static_cast<std::int32_t>(r.rows.size());
        r.rows.push_back(static_cast<std::int32_t>(i));
        r.by_row.close_line();
    }
    r.by_column = r.by_row.transposed(r.columns.size());
    r.given_by_column = r.given.transposed(model.columns());
    return r;
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
