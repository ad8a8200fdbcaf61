// The part of the dual simplex method that exchanges one variable for another.
#include <algorithm>
#include <cmath>

#include "lp/kernels.hpp"
#include "lp/simplex.hpp"

namespace cobre::lp {

namespace {

constexpr double least_pivot = 1e-7;        // of a step; below it the inverse is computed anew first
constexpr double least_state_pivot = 1e-3;  // below it a column of the cuts is not preferred
constexpr double no_pivot = 1e-9;           // below it a coefficient counts as 0
constexpr double pivot_agreement = 1e-7;    // between the row and the column of a pivot
constexpr std::size_t wide_share = 4;       // fewer terms than this part of the columns are listed one by one

}  // namespace

// A column changes its value, and the rows in which it stands change theirs; in a tight one that sums up to
// nothing.
void DualSimplex::move(std::size_t column, double step) noexcept {
    double* activity = activity_.data();
    x_[column] += step;
    const Entry* end = by_column_.end(column);
    for (const Entry* e = by_column_.begin(column); e != end; ++e) activity[e->index] += e->value * step;
}

// rho_ = derivative of the leaving variable by the activity of each tight row; used_ = where it is not 0. The
// entries of those rows, counted.
std::size_t DualSimplex::row_of_inverse(const Leaving& leaving) {
    const std::size_t k = tight_.size();
    if (!leaving.is_row) {
        const double* row = inverse_.row(at_index(leaving.index));
        rho_.assign(row, row + k);
    } else {
        if (leaving.index >= m_) gather_cut(leaving.index, own_cut_);
        weights_of_row(leaving.index);
    }
    for (double& each : rho_)
        if (std::abs(each) < rounding) each = 0.0;
    used_.resize(k + kernel_room);
    used_.resize(filled(rho_.data(), k, used_.data()));
    std::size_t entries = 0;
    for (const std::int32_t t : used_) {
        const std::int32_t row = tight_[at_index(t)].row;
        entries += row < m_ ? by_row_.length(at_index(row)) : cut_columns_.size();
    }
    return entries;
}

// Calls row(index, factor) or cut(entries, factor) for each part of the derivative.
template <class Row, class Cut>
void DualSimplex::each_part(const Leaving& leaving, Row&& row, Cut&& cut) const {
    if (leaving.is_row && leaving.index < m_) row(at_index(leaving.index), 1.0);
    else if (leaving.is_row) cut(own_cut_.data(), 1.0);
    for (const std::int32_t used : used_) {
        const std::size_t t = at_index(used);
        if (tight_[t].row < m_) row(at_index(tight_[t].row), -rho_[t]);
        else cut(cut_row(t), -rho_[t]);
    }
}

// alpha_ = derivative of the leaving variable by each nonbasic column. Where most columns have a term they are
// looked at from end to end, otherwise by the list of those that have one.
void DualSimplex::tableau_row(const Leaving& leaving) {
    if (is_wide_) std::fill(alpha_.begin(), alpha_.end(), 0.0);
    for (const std::int32_t column : touched()) {
        alpha_[at_index(column)] = 0.0;
        is_touched_[at_index(column)] = 0;
    }
    n_touched_ = 0;
    is_wide_ = row_of_inverse(leaving) * wide_share > at_index(n_);
    double* alpha = alpha_.data();
    if (is_wide_) {
        const auto add_row = [&](std::size_t row, double factor) {
            const Entry* end = by_row_.end(row);
            for (const Entry* e = by_row_.begin(row); e != end; ++e) alpha[e->index] += factor * e->value;
        };
        each_part(leaving, add_row,
                  [&](const double* entries, double factor) { add_cut(entries, factor, alpha); });
        return;
    }
    std::int32_t* touched = touched_.data();
    std::uint8_t* is_touched = is_touched_.data();
    std::size_t n_touched = 0;
    const auto add = [&](std::int32_t column, double value) {
        alpha[column] += value;
        touched[n_touched] = column;
        n_touched += is_touched[column] ^ 1U;
        is_touched[column] = 1;
    };
    const auto add_row = [&](std::size_t row, double factor) {
        const Entry* end = by_row_.end(row);
        for (const Entry* e = by_row_.begin(row); e != end; ++e) add(e->index, factor * e->value);
    };
    each_part(leaving, add_row, [&](const double* entries, double factor) {
        for (const std::int32_t column : cut_columns_) add(column, factor * entries[column]);
    });
    n_touched_ = n_touched;
}

// Nonbasic variables whose reduced cost falls as the dual step grows.
void DualSimplex::collect_candidates(double sign) {
    candidates_.clear();
    const double *alpha = alpha_.data(), *way = way_.data(), *d = d_.data();
    std::size_t n_found = 0;
    if (is_wide_) {
        n_found = products_above(sign, alpha, way, no_pivot, at_index(n_), found_.data());
    } else {
        std::int32_t* found = found_.data();
        for (const std::int32_t column : touched()) {
            found[n_found] = column;
            n_found += sign * alpha[column] * way[column] > no_pivot;
        }
    }
    const double relax = 0.5 * tolerance_;
    const auto add_candidate = [&](std::int32_t index, double room, double size, double range) {
        candidates_.push_back({index, room, size, range, (room + relax) / size});
    };
    candidates_.reserve(n_found);
    for (std::size_t f = 0; f < n_found; ++f) {
        const std::size_t j = at_index(found_[f]);
        add_candidate(found_[f], std::max(0.0, way[j] * d[j]), std::abs(alpha[j]),
                      program_.column_upper[j] - program_.column_lower[j]);
    }
    if (has_free_)
        for (std::int32_t j = 0; j < n_; ++j)
            if (at_[at_index(j)] == At::zero && std::abs(alpha[j]) > no_pivot)
                add_candidate(j, 0.0, std::abs(alpha[j]), INFINITY);
    for (const std::int32_t used : used_) {
        const std::size_t t = at_index(used);
        const double side_of = tight_[t].at == At::lower ? 1.0 : -1.0;
        if (!(sign * rho_[t] * side_of > no_pivot)) continue;
        const double range = row_upper(tight_[t].row) - row_lower(tight_[t].row);
        if (range != 0.0) add_candidate(n_ + used, std::max(0.0, side_of * y_[t]), std::abs(rho_[t]), range);
    }
}

// Which candidate enters: -1 if none stops the step, so that the program has no solution. Candidates whose flip to
// the other bound leaves the leaving variable infeasible are passed. Among those that stop the step within half
// the tolerance columns of the cuts come first: where it costs nothing, the state takes what is left over. Then
// the largest coefficient counts, of equals the first.
std::int32_t DualSimplex::ratio_test(double slope) {
    passed_.clear();
    const auto is_state = [this](const Candidate& each) {
        return each.index < n_ && is_state_[at_index(each.index)] != 0 && each.alpha > least_state_pivot;
    };
    while (!candidates_.empty()) {
        double step = INFINITY;
        for (const Candidate& each : candidates_) step = std::min(step, each.limit);
        bool has_state = false;
        stopping_.clear();
        for (std::size_t k = 0; k < candidates_.size(); ++k) {
            if (!(candidates_[k].room <= step * candidates_[k].alpha)) continue;
            stopping_.push_back(k);
            has_state |= is_state(candidates_[k]);
        }
        if (has_state) std::erase_if(stopping_, [&](std::size_t k) { return !is_state(candidates_[k]); });
        double left = slope;
        const Candidate* chosen = nullptr;
        for (const std::size_t k : stopping_) {
            const Candidate& each = candidates_[k];
            left -= each.alpha * each.range;
            if (chosen == nullptr || each.alpha > chosen->alpha ||
                (each.alpha == chosen->alpha && each.index < chosen->index))
                chosen = &each;
        }
        if (!(left > tolerance_)) return chosen->index;
        slope = left;
        for (const std::size_t k : stopping_) {
            passed_.push_back(candidates_[k].index);
            candidates_[k].alpha = 0.0;
        }
        std::erase_if(candidates_, [](const Candidate& each) { return each.alpha == 0.0; });
    }
    return -1;
}

// Moves passed variables to their other bound, and the basic columns with them.
void DualSimplex::flip_passed() {
    if (passed_.empty()) return;
    const std::size_t k = tight_.size();
    change_.assign(k, 0.0);
    for (const std::int32_t index : passed_) {
        if (index >= n_) {
            Tight& tight = tight_[at_index(index - n_)];
            const double before = side(tight);
            tight.at = tight.at == At::lower ? At::upper : At::lower;
            change_[at_index(index - n_)] -= side(tight) - before;
            continue;
        }
        const std::size_t j = at_index(index);
        at_[j] = at_[j] == At::lower ? At::upper : At::lower;
        way_[j] = way_of(at_[j]);
        const double value = at_[j] == At::lower ? program_.column_lower[j] : program_.column_upper[j];
        const double step = value - x_[j];
        move(j, step);
        x_[j] = value;
        for (const Entry* e = by_column_.begin(j); e != by_column_.end(j); ++e)
            if (place_[at_index(e->index)] >= 0) change_[at_index(place_[at_index(e->index)])] += e->value * step;
        if (is_in_cuts_[j] != 0)
            for (const std::size_t t : tight_cuts_) change_[t] += cut_row(t)[j] * step;
    }
    for (std::size_t t = 0; t < k; ++t)
        if (change_[t] != 0.0)
            inverse_.for_each_in_column(
                t, [&](std::size_t p, double number) { move(at_index(basic_[p]), -number * change_[t]); });
}

void DualSimplex::column_times_inverse(std::int32_t column, std::vector<double>& out) const {
    const std::size_t k = inverse_.size();
    out.assign(k, 0.0);
    const auto add = [&](std::size_t t, double value) {
        if (value == 0.0) return;
        inverse_.for_each_in_column(t, [&](std::size_t p, double number) { out[p] += value * number; });
    };
    const std::size_t j = at_index(column);
    for (const Entry* e = by_column_.begin(j); e != by_column_.end(j); ++e)
        if (place_[at_index(e->index)] >= 0) add(at_index(place_[at_index(e->index)]), e->value);
    if (is_in_cuts_[j] != 0)
        for (const std::size_t t : tight_cuts_) add(t, cut_row(t)[j]);
}

void DualSimplex::make_tight(std::int32_t row, At at) {
    if (row < m_) place_[at_index(row)] = static_cast<std::int32_t>(tight_.size());
    tight_.push_back({row, at});
    if (row >= m_) keep_cut(tight_.size() - 1);
}

// The logical variable of tight row t has become basic in this position: both leave.
void DualSimplex::make_loose(std::size_t position, std::size_t t) {
    inverse_.remove(position, t);
    const std::size_t last = tight_.size() - 1;
    if (tight_[t].row < m_) place_[at_index(tight_[t].row)] = -1;
    else forget_cut(t);
    if (t != last) {
        tight_[t] = tight_[last];
        y_[t] = y_[last];
        if (tight_[t].row < m_) {
            place_[at_index(tight_[t].row)] = static_cast<std::int32_t>(t);
        } else {
            tight_cuts_.pop_back();
            tight_cuts_.insert(std::ranges::upper_bound(tight_cuts_, t), t);
        }
    }
    tight_.pop_back();
    y_.pop_back();
    if (position != last) {
        basic_[position] = basic_[last];
        position_[at_index(basic_[position])] = static_cast<std::int32_t>(position);
    }
    basic_.pop_back();
}

DualSimplex::Step DualSimplex::pivot(const Leaving& leaving) {
    tableau_row(leaving);
    const bool is_row = leaving.is_row;
    const auto own_column = is_row ? -1 : basic_[at_index(leaving.index)];
    const double bound = is_row ? (leaving.to_upper ? row_upper(leaving.index) : row_lower(leaving.index))
                         : leaving.to_upper ? program_.column_upper[at_index(own_column)]
                                            : program_.column_lower[at_index(own_column)];
    const auto value = [&] {
        return is_row ? activity(leaving.index, own_cut_.data()) : x_[at_index(own_column)];
    };
    const double sign = leaving.to_upper ? -1.0 : 1.0;
    collect_candidates(sign);
    const std::int32_t entering = ratio_test(std::abs(bound - value()));
    if (entering < 0) return updates_ > 0 ? Step::again : Step::none;
    const double alpha = entering < n_ ? alpha_[at_index(entering)] : rho_[at_index(entering - n_)];
    if (std::abs(alpha) < least_pivot && updates_ > 0) return Step::again;
    flip_passed();

    double& reduced = entering < n_ ? d_[at_index(entering)] : y_[at_index(entering - n_)];
    double dual_step = reduced / alpha;
    if (dual_step * sign < 0.0) dual_step = 0.0;
    if (dual_step != 0.0) {
        if (is_wide_) add_multiple_of_any(d_.data(), -dual_step, alpha_.data(), at_index(n_));
        for (const std::int32_t j : touched()) d_[at_index(j)] -= dual_step * alpha_[at_index(j)];
        for (std::size_t t = 0; t < y_.size(); ++t) y_[t] -= dual_step * rho_[t];
    }
    reduced = 0.0;

    const double step = (bound - value()) / alpha;
    std::size_t position = at_index(leaving.index);
    if (is_row) {
        inverse_.append(rho_);
        position = tight_.size();
        make_tight(leaving.index, leaving.to_upper ? At::upper : At::lower);
        y_.push_back(dual_step);
        basic_.push_back(-1);  // the row's own logical variable
    }
    const std::size_t k = tight_.size();
    if (entering < n_) {
        column_times_inverse(entering, column_);
    } else {
        column_.assign(k, 0.0);
        inverse_.for_each_in_column(at_index(entering - n_),
                                    [this](std::size_t p, double number) { column_[p] = -number; });
    }
    const bool is_in_doubt = std::abs(column_[position] + alpha) > pivot_agreement * (1.0 + std::abs(alpha));
    if (is_in_doubt && (updates_ == 0 || column_[position] == 0.0)) is_usable_ = false;
    inverse_.exchange(position, column_);
    updates_ = is_in_doubt ? updates_between_factors : updates_ + 1;
    ++clock_;
    for (const std::int32_t p : inverse_.exchanged_rows()) {
        if (basic_[at_index(p)] < 0) continue;
        const std::size_t j = at_index(basic_[at_index(p)]);
        move(j, -step * column_[at_index(p)]);
        column_changed_[j] = clock_;
    }
    if (!is_row) {
        const std::size_t j = at_index(own_column);
        move(j, bound - x_[j]);
        x_[j] = bound;
        d_[j] = dual_step;
        at_[j] = leaving.to_upper ? At::upper : At::lower;
        way_[j] = program_.column_lower[j] == program_.column_upper[j] ? 0.0 : way_of(at_[j]);
        position_[j] = -1;
    }
    if (entering < n_) {
        const std::size_t j = at_index(entering);
        move(j, step);
        at_[j] = At::basic;
        way_[j] = 0.0;
        position_[j] = static_cast<std::int32_t>(position);
        basic_[position] = entering;
        column_changed_[j] = clock_;
    } else {
        basic_[position] = -1;
        const std::int32_t row = tight_[at_index(entering - n_)].row;
        if (row < m_) row_normed_[at_index(row)] = -1;
        make_loose(position, at_index(entering - n_));
        if (row < m_) activity_[at_index(row)] = activity(row, nullptr);
    }
    return Step::done;
}

}  // namespace cobre::lp
