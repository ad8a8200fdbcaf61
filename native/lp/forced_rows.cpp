#include "lp/forced_rows.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::lp {

ForcedRows::ForcedRows(const Model& model, const PatchPlan& plan, const Scaling& scaling,
                       const Reduction& reduction)
    : is_fixed_(reduction.columns.size(), 0), at_lower_(reduction.columns.size(), 0) {
    std::vector<char> has_patched_limits(model.columns(), 0);
    for (const std::int32_t j : plan.column_bounds()) has_patched_limits[at_index(j)] = 1;
    std::vector<char> defines(model.rows(), 0);
    for (const auto& each : reduction.dependent) defines[at_index(each.row)] = 1;
    const auto is_equation = equations(model, plan);
    for (std::size_t k = 0; k < reduction.rows.size(); ++k) {
        const std::size_t i = at_index(reduction.rows[k]);
        if (!is_equation[i] || defines[i] != 0 || reduction.by_row.length(k) == 0) continue;
        Candidate row{static_cast<std::int32_t>(k), terms_.size(), terms_.size(), 0.0, 0.0};
        bool is_bounded = true;
        for (const Entry* e = reduction.by_row.begin(k); e != reduction.by_row.end(k); ++e) {
            const std::size_t j = at_index(reduction.columns[at_index(e->index)]);
            const double lower = model.column_lower[j] / scaling.column[j];
            const double upper = model.column_upper[j] / scaling.column[j];
            is_bounded &= std::isfinite(lower) && std::isfinite(upper) && has_patched_limits[j] == 0 &&
                          std::abs(e->value) >= least_coefficient;
            terms_.push_back({e->index, e->value, lower, upper});
            row.least += e->value * (e->value > 0.0 ? lower : upper);
            row.greatest += e->value * (e->value > 0.0 ? upper : lower);
        }
        row.end = terms_.size();
        if (is_bounded && row.least < row.greatest) candidates_.push_back(row);
        else terms_.resize(row.begin);
    }
}

void ForcedRows::fix(BoundedProgram& program, double tolerance) {
    for (const std::int32_t which : forced_)
        for (const Term& term : terms_of(candidates_[at_index(which)])) is_fixed_[at_index(term.column)] = 0;
    forced_.clear();
    for (std::size_t which = 0; which < candidates_.size(); ++which) {
        const Candidate& row = candidates_[which];
        const double side = program.row_lower[at_index(row.row)];
        const double slack = 0.5 * slack_of(tolerance, side);
        const bool is_least = std::abs(side - row.least) <= slack;
        if (!is_least && !(std::abs(side - row.greatest) <= slack)) continue;
        const auto terms = terms_of(row);
        if (std::ranges::any_of(terms, [this](const Term& t) { return is_fixed_[at_index(t.column)] != 0; }))
            continue;
        forced_.push_back(static_cast<std::int32_t>(which));
        for (const Term& term : terms) {
            const std::size_t j = at_index(term.column);
            is_fixed_[j] = 1;
            at_lower_[j] = (term.value > 0.0) == is_least;
            program.column_lower[j] = program.column_upper[j] = at_lower_[j] != 0 ? term.lower : term.upper;
        }
    }
}

std::int32_t ForcedRows::count_basic(const Candidate& candidate, std::span<const At> columns,
                                     std::int32_t& one) const {
    std::int32_t n = 0;
    for (const Term& term : terms_of(candidate))
        if (columns[at_index(term.column)] == At::basic) {
            one = term.column;
            ++n;
        }
    return n;
}

void ForcedRows::leave(std::span<At> columns, std::span<At> rows) const noexcept {
    for (const std::int32_t which : forced_) {
        const Candidate& row = candidates_[at_index(which)];
        std::int32_t own = -1;
        if (rows[at_index(row.row)] == At::basic || count_basic(row, columns, own) != 1) continue;
        rows[at_index(row.row)] = At::basic;
        columns[at_index(own)] = At::lower;
    }
}

// Each column that could leave its limit bounds the dual on one side, the same for all of them.
ForcedRows::Shift ForcedRows::shift_of(const Candidate& candidate,
                                       std::span<const double> reduced_cost) const noexcept {
    Shift found{0.0, -1};
    for (const Term& term : terms_of(candidate)) {
        if (term.lower == term.upper) continue;
        const double dual = reduced_cost[at_index(term.column)] / term.value;
        const bool is_least = is_at_lower(term) == (term.value > 0.0);
        if (found.column < 0 || (is_least ? dual < found.dual : dual > found.dual)) found = {dual, term.column};
    }
    return found;
}

void ForcedRows::enter(std::span<At> columns, std::span<At> rows) const noexcept {
    for (std::size_t f = 0; f < forced_.size(); ++f) {
        const Candidate& row = candidates_[at_index(forced_[f])];
        const auto rest_at = [&](const Term& term) { return is_at_lower(term) ? At::lower : At::upper; };
        std::int32_t own = -1;
        const std::int32_t n = count_basic(row, columns, own);
        At& at = rows[at_index(row.row)];
        const bool moves = shifts_[f].column >= 0 && (at == At::basic ? n == 0 : n == 1);
        for (const Term& term : terms_of(row)) {
            At& of = columns[at_index(term.column)];
            if (of != At::basic || moves) of = rest_at(term);
        }
        if (!moves) continue;
        at = At::lower;
        columns[at_index(shifts_[f].column)] = At::basic;
    }
}

}  // namespace cobre::lp
