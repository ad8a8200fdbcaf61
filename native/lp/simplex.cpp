#include "lp/simplex.hpp"

#include <algorithm>
#include <cmath>

#include "lp/kernels.hpp"

namespace cobre::lp {

namespace {

constexpr int updates_between_factors = 100;
constexpr int most_renewals = 4;            // of values and duals, in one solve
constexpr double least_pivot = 1e-7;        // of a step; below it the inverse is computed anew first
constexpr double least_state_pivot = 1e-3;  // below it a column of the cuts is not preferred
constexpr double no_pivot = 1e-9;           // below it a coefficient counts as 0
constexpr double doubt = 1e-7;              // a reduced cost of the wrong sign that rounding may have made
constexpr double pivot_agreement = 1e-7;    // between the row and the column of a pivot

std::size_t at_index(std::int32_t index) noexcept { return static_cast<std::size_t>(index); }

// The direction into which a nonbasic variable can move; 0 if it is none, or both.
double way_of(At at) noexcept { return at == At::lower ? 1.0 : at == At::upper ? -1.0 : 0.0; }

}  // namespace

DualSimplex::DualSimplex(const Reduction& reduction, const CutMatrix& cuts, const BoundedProgram& program,
                         double tolerance, int iteration_limit)
    : by_row_(reduction.by_row),
      by_column_(reduction.by_column),
      cuts_(cuts),
      program_(program),
      n_(static_cast<std::int32_t>(reduction.columns.size())),
      m_(static_cast<std::int32_t>(reduction.rows.size())),
      tolerance_(tolerance),
      iteration_limit_(iteration_limit > 0 ? iteration_limit : 500 + 5 * (n_ + m_)),
      cut_columns_(cuts.columns()),
      cut_place_(at_index(n_), -1),
      place_(at_index(m_), -1),
      position_(at_index(n_), -1),
      at_(at_index(n_), At::lower),
      way_(at_index(n_), 0.0),
      x_(at_index(n_), 0.0),
      d_(at_index(n_), 0.0),
      column_changed_(at_index(n_), 0),
      column_normed_(at_index(n_), -1),
      row_normed_(at_index(m_), -1),
      column_norm_(at_index(n_), 0.0),
      row_norm_(at_index(m_), 0.0),
      activity_(at_index(m_), 0.0),
      alpha_(at_index(n_), 0.0),
      is_touched_(at_index(n_), 0) {
    for (std::size_t j = 0; j < cut_columns_.size(); ++j)
        cut_place_[at_index(cut_columns_[j])] = static_cast<std::int32_t>(j);
}

double DualSimplex::row_lower(std::int32_t row) const noexcept {
    return row < m_ ? program_.row_lower[at_index(row)] : program_.cut_lower[at_index(row - m_)];
}

double DualSimplex::row_upper(std::int32_t row) const noexcept {
    return row < m_ ? program_.row_upper[at_index(row)] : INFINITY;
}

double DualSimplex::side(const Tight& tight) const noexcept {
    return tight.at == At::upper ? row_upper(tight.row) : row_lower(tight.row);
}

// In units in which the coefficients are around 1. Large bounds leave room for the rounding of their own digits.
double DualSimplex::slack_tolerance(double bound) const noexcept {
    return tolerance_ * std::max(1.0, 1e-4 * std::abs(bound));
}

// `cut` are the entries of the row if it is a cut.
double DualSimplex::activity(std::int32_t row, const double* cut) const noexcept {
    double sum = 0.0;
    if (row < m_) {
        for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
            sum += e->value * x_[at_index(e->index)];
    } else {
        for (std::size_t j = 0; j < cut_columns_.size(); ++j) sum += cut[j] * x_[at_index(cut_columns_[j])];
    }
    return sum;
}

void DualSimplex::gather_cut(std::int32_t row, std::vector<double>& out) const {
    out.resize(cut_columns_.size());
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = cuts_.entry(j, at_index(row - m_));
}

void DualSimplex::begin_from_slacks() {
    basic_.clear();
    tight_.clear();
    cut_rows_.clear();
    std::fill(place_.begin(), place_.end(), -1);
    std::fill(position_.begin(), position_.end(), -1);
    std::fill(at_.begin(), at_.end(), At::lower);
    inverse_.reset(0);
    updates_ = 0;
    forget_norms();
    compute_duals();
    is_usable_ = choose_sides();
}

void DualSimplex::begin(std::span<const At> columns, std::span<const At> rows, std::span<const At> cuts,
                        Inverted* kept) {
    basic_.clear();
    tight_.clear();
    std::fill(place_.begin(), place_.end(), -1);
    std::fill(position_.begin(), position_.end(), -1);
    for (std::int32_t j = 0; j < n_; ++j) {
        at_[at_index(j)] = columns[at_index(j)];
        if (at_[at_index(j)] == At::basic) basic_.push_back(j);
    }
    for (std::int32_t i = 0; i < m_; ++i)
        if (rows[at_index(i)] != At::basic) tight_.push_back({i, rows[at_index(i)]});
    for (std::size_t k = 0; k < cuts.size(); ++k)
        if (cuts[k] != At::basic) tight_.push_back({m_ + static_cast<std::int32_t>(k), At::lower});
    factor();
    if (kept != nullptr) {
        kept->inverse.copy(inverse_);
        kept->basic = basic_;
        kept->place = place_;
        kept->position = position_;
        kept->tight = tight_;
        kept->at = at_;
        kept->cut_rows = cut_rows_;
    }
    begin_from_inverse();
}

void DualSimplex::begin(const Inverted& kept) {
    inverse_.copy(kept.inverse);
    basic_ = kept.basic;
    place_ = kept.place;
    position_ = kept.position;
    tight_ = kept.tight;
    at_ = kept.at;
    cut_rows_ = kept.cut_rows;
    updates_ = 0;
    forget_norms();
    begin_from_inverse();
}

void DualSimplex::begin_from_inverse() {
    compute_duals();
    is_usable_ = choose_sides();
    if (!is_usable_) begin_from_slacks();
}

// Reduced costs of everything nonbasic, from the inverse.
void DualSimplex::compute_duals() {
    const std::size_t k = tight_.size();
    y_.assign(k, 0.0);
    for (std::size_t p = 0; p < k; ++p) {
        const double cost = program_.cost[at_index(basic_[p])];
        if (cost != 0.0) inverse_.add_row(p, cost, y_.data());
    }
    std::copy(program_.cost.begin(), program_.cost.end(), d_.begin());
    for (std::size_t t = 0; t < k; ++t) {
        const double y = y_[t];
        if (y == 0.0) continue;
        const std::int32_t row = tight_[t].row;
        if (row < m_) {
            for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
                d_[at_index(e->index)] -= y * e->value;
        } else {
            const double* entries = cut_row(t);
            for (std::size_t j = 0; j < cut_columns_.size(); ++j) d_[at_index(cut_columns_[j])] -= y * entries[j];
        }
    }
    are_duals_known_ = true;
}

// Puts every nonbasic variable at the bound that its reduced cost requires. False if a bound that is needed does
// not exist. What is wrong by no more than rounding may be right again at the end, when `is_dual_right` judges it.
bool DualSimplex::choose_sides() {
    has_free_ = false;
    for (std::size_t j = 0; j < at_.size(); ++j) {
        way_[j] = 0.0;
        if (at_[j] == At::basic) continue;
        const double low = program_.column_lower[j], high = program_.column_upper[j];
        if (low == high) at_[j] = At::lower;
        else if (d_[j] > (low == -INFINITY ? doubt : tolerance_)) at_[j] = At::lower;
        else if (d_[j] < (high == INFINITY ? -doubt : -tolerance_)) at_[j] = At::upper;
        else if (at_[j] == At::upper ? high == INFINITY : low == -INFINITY)
            at_[j] = low != -INFINITY ? At::lower : high != INFINITY ? At::upper : At::zero;
        else if (at_[j] == At::zero) at_[j] = At::lower;
        const double value = at_[j] == At::lower ? low : at_[j] == At::upper ? high : 0.0;
        if (!std::isfinite(value)) return false;
        x_[j] = value;
        has_free_ |= at_[j] == At::zero;
        way_[j] = low == high ? 0.0 : way_of(at_[j]);
    }
    for (std::size_t t = 0; t < tight_.size(); ++t) {
        Tight& tight = tight_[t];
        const double low = row_lower(tight.row), high = row_upper(tight.row);
        if (low == high || y_[t] > (low == -INFINITY ? doubt : tolerance_)) tight.at = At::lower;
        else if (y_[t] < (high == INFINITY ? -doubt : -tolerance_)) tight.at = At::upper;
        else if (tight.at != At::upper || high == INFINITY) tight.at = low == -INFINITY ? At::upper : At::lower;
        if (!std::isfinite(side(tight))) return false;
    }
    return true;
}

// Values of the basic columns, from the inverse and the nonbasic ones.
void DualSimplex::compute_primal() {
    const std::size_t k = tight_.size();
    change_.resize(k);
    for (std::size_t t = 0; t < k; ++t) {
        const std::int32_t row = tight_[t].row;
        double rest = side(tight_[t]);
        if (row < m_) {
            for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
                if (position_[at_index(e->index)] < 0) rest -= e->value * x_[at_index(e->index)];
        } else {
            const double* entries = cut_row(t);
            for (std::size_t j = 0; j < cut_columns_.size(); ++j)
                if (position_[at_index(cut_columns_[j])] < 0) rest -= entries[j] * x_[at_index(cut_columns_[j])];
        }
        change_[t] = rest;
    }
    for (std::size_t p = 0; p < k; ++p) x_[at_index(basic_[p])] = inverse_.dot_row(p, change_.data());
    // What the inverse has lost over its updates comes back by correcting with it.
    is_exact_ = are_tight_rows_right();
    for (int corrections = 0; corrections < 2 && !is_exact_; ++corrections) {
        for (std::size_t p = 0; p < k; ++p) x_[at_index(basic_[p])] += inverse_.dot_row(p, change_.data());
        is_exact_ = are_tight_rows_right();
    }
    for (std::int32_t i = 0; i < m_; ++i)
        if (place_[at_index(i)] < 0) activity_[at_index(i)] = activity(i, nullptr);
}

// rho_ = the row's part in the basic columns times the inverse.
void DualSimplex::weights_of_row(std::int32_t row) {
    rho_.assign(tight_.size(), 0.0);
    const auto add = [this](std::int32_t column, double value) {
        const std::int32_t p = position_[at_index(column)];
        if (p >= 0 && value != 0.0) inverse_.add_row(at_index(p), value, rho_.data());
    };
    if (row < m_) {
        for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
            add(e->index, e->value);
    } else {
        for (std::size_t j = 0; j < cut_columns_.size(); ++j) add(cut_columns_[j], own_cut_[j]);
    }
}

// Squares of the norms of rows of the inverse basis. Only rows that a pivot has changed are added up again.
double DualSimplex::norm_of_position(std::size_t p) {
    const std::size_t j = at_index(basic_[p]);
    if (column_normed_[j] < column_changed_[j]) {
        column_norm_[j] = inverse_.norm_of_row(p);
        column_normed_[j] = clock_;
    }
    return column_norm_[j];
}

double DualSimplex::norm_of_row(std::size_t row) {
    std::int32_t changed = 0;
    for (const Entry* e = by_row_.begin(row); e != by_row_.end(row); ++e)
        changed = std::max(changed, column_changed_[at_index(e->index)]);
    if (row_normed_[row] < changed) {
        weights_of_row(static_cast<std::int32_t>(row));
        row_norm_[row] = 1.0 + dot(rho_.data(), rho_.data(), rho_.size());
        row_normed_[row] = clock_;
    }
    return row_norm_[row];
}

// A column changes its value, and the loose rows in which it stands change theirs.
void DualSimplex::move(std::size_t column, double step) noexcept {
    x_[column] += step;
    for (const Entry* e = by_column_.begin(column); e != by_column_.end(column); ++e)
        activity_[at_index(e->index)] += e->value * step;
}

void DualSimplex::forget_norms() {
    clock_ = 0;
    std::fill(column_changed_.begin(), column_changed_.end(), 0);
    std::fill(column_normed_.begin(), column_normed_.end(), -1);
    std::fill(row_normed_.begin(), row_normed_.end(), -1);
}

// The infeasibility that is largest in the norm of its row of the inverse basis: steepest edge, with exact norms.
DualSimplex::Leaving DualSimplex::choose_leaving() {
    Leaving best;
    double best_score = 0.0;
    const auto consider = [&](double value, double low, double high, bool is_row, std::size_t index) {
        const double amount = std::max(value - high, low - value);
        if (!(amount > tolerance_)) return;
        const bool to_upper = value - high > low - value;
        if (!(amount > slack_tolerance(to_upper ? high : low))) return;
        const double score = amount * amount / (is_row ? norm_of_row(index) : norm_of_position(index));
        if (score > best_score) {
            best_score = score;
            best = {true, is_row, static_cast<std::int32_t>(index), to_upper};
        }
    };
    for (std::size_t p = 0; p < basic_.size(); ++p) {
        const std::size_t j = at_index(basic_[p]);
        consider(x_[j], program_.column_lower[j], program_.column_upper[j], false, p);
    }
    for (std::size_t i = 0; i < place_.size(); ++i)
        if (place_[i] < 0) consider(activity_[i], program_.row_lower[i], program_.row_upper[i], true, i);
    return best;
}

DualSimplex::Leaving DualSimplex::violated_cut() {
    double violation = 0.0;
    const std::int32_t row = cuts_.most_violated(x_, program_.cut_lower, room_, violation);
    if (row < 0 || !(violation > slack_tolerance(program_.cut_lower[at_index(row)]))) return {};
    for (const Tight& tight : tight_)
        if (tight.row == m_ + row) return {};  // as exact as the inverse: `are_tight_rows_right` judges it
    return {true, true, m_ + row, false};
}

// alpha_ = derivative of the leaving variable by each nonbasic column, rho_ by the activity of each tight row.
void DualSimplex::tableau_row(const Leaving& leaving) {
    for (const std::int32_t column : touched_) {
        alpha_[at_index(column)] = 0.0;
        is_touched_[at_index(column)] = 0;
    }
    touched_.resize(at_index(n_) + 1);  // one more: without a branch, a column that is known is written, too
    std::size_t n_touched = 0;
    const auto add = [&](std::int32_t column, double value) {
        const std::size_t j = at_index(column);
        alpha_[j] += value;
        touched_[n_touched] = column;
        n_touched += is_touched_[j] ^ 1U;
        is_touched_[j] = 1;
    };
    if (!leaving.is_row) {
        const double* row = inverse_.row(at_index(leaving.index));
        rho_.assign(row, row + tight_.size());
    } else {
        if (leaving.index >= m_) gather_cut(leaving.index, own_cut_);
        weights_of_row(leaving.index);
        if (leaving.index < m_) {
            const std::size_t i = at_index(leaving.index);
            for (const Entry* e = by_row_.begin(i); e != by_row_.end(i); ++e) add(e->index, e->value);
        } else {
            for (std::size_t j = 0; j < cut_columns_.size(); ++j) add(cut_columns_[j], own_cut_[j]);
        }
    }
    for (std::size_t t = 0; t < tight_.size(); ++t) {
        const double weight = rho_[t];
        if (weight == 0.0) continue;
        const std::int32_t row = tight_[t].row;
        if (row < m_) {
            for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
                add(e->index, -weight * e->value);
        } else {
            const double* entries = cut_row(t);
            for (std::size_t j = 0; j < cut_columns_.size(); ++j) add(cut_columns_[j], -weight * entries[j]);
        }
    }
    touched_.resize(n_touched);
}

// Nonbasic variables whose reduced cost falls as the dual step grows.
void DualSimplex::collect_candidates(double sign) {
    candidates_.clear();
    found_.resize(touched_.size() + 1);
    std::size_t n_found = 0;
    for (const std::int32_t column : touched_) {
        const std::size_t j = at_index(column);
        found_[n_found] = column;
        n_found += sign * alpha_[j] * way_[j] > no_pivot;
    }
    for (std::size_t k = 0; k < n_found; ++k) {
        const std::size_t j = at_index(found_[k]);
        candidates_.push_back({found_[k], std::max(0.0, way_[j] * d_[j]), std::abs(alpha_[j]),
                               program_.column_upper[j] - program_.column_lower[j]});
    }
    if (has_free_)
        for (const std::int32_t column : touched_)
            if (at_[at_index(column)] == At::zero && std::abs(alpha_[at_index(column)]) > no_pivot)
                candidates_.push_back({column, 0.0, std::abs(alpha_[at_index(column)]), INFINITY});
    for (std::size_t t = 0; t < tight_.size(); ++t) {
        if (rho_[t] == 0.0) continue;
        const double way = tight_[t].at == At::lower ? 1.0 : -1.0;
        if (!(sign * rho_[t] * way > no_pivot)) continue;
        const double range = row_upper(tight_[t].row) - row_lower(tight_[t].row);
        if (range != 0.0)
            candidates_.push_back(
                {n_ + static_cast<std::int32_t>(t), std::max(0.0, way * y_[t]), std::abs(rho_[t]), range});
    }
}

// Which candidate enters: -1 if none stops the step, so that the program has no solution. Candidates whose flip to
// the other bound leaves the leaving variable infeasible are passed. Among those that stop the step within half
// the tolerance columns of the cuts come first: where it costs nothing, the state takes what is left over. Then
// the largest coefficient counts, of equals the first.
std::int32_t DualSimplex::ratio_test(double slope) {
    passed_.clear();
    const double relax = 0.5 * tolerance_;
    const auto is_state = [this](const Candidate& each) {
        return each.index < n_ && cut_place_[at_index(each.index)] > 0 && each.alpha > least_state_pivot;
    };
    while (!candidates_.empty()) {
        double step = INFINITY;
        for (const Candidate& each : candidates_) step = std::min(step, (each.room + relax) / each.alpha);
        bool has_state = false;
        for (const Candidate& each : candidates_) has_state |= each.room <= step * each.alpha && is_state(each);
        const auto stops = [&](const Candidate& each) {
            return each.room <= step * each.alpha && (!has_state || is_state(each));
        };
        double left = slope;
        const Candidate* chosen = nullptr;
        for (const Candidate& each : candidates_) {
            if (!stops(each)) continue;
            left -= each.alpha * each.range;
            if (chosen == nullptr || each.alpha > chosen->alpha ||
                (each.alpha == chosen->alpha && each.index < chosen->index))
                chosen = &each;
        }
        if (!(left > 0.0)) return chosen->index;
        slope = left;
        std::size_t kept = 0;
        for (const Candidate& each : candidates_) {
            if (stops(each)) passed_.push_back(each.index);
            else candidates_[kept++] = each;
        }
        candidates_.resize(kept);
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
        if (cut_place_[j] >= 0)
            for (std::size_t t = 0; t < k; ++t)
                if (tight_[t].row >= m_) change_[t] += cut_row(t)[cut_place_[j]] * step;
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
    if (cut_place_[j] >= 0)
        for (std::size_t t = 0; t < tight_.size(); ++t)
            if (tight_[t].row >= m_) add(t, cut_row(t)[cut_place_[j]]);
}

void DualSimplex::make_tight(std::int32_t row, At at) {
    if (row < m_) place_[at_index(row)] = static_cast<std::int32_t>(tight_.size());
    tight_.push_back({row, at});
    cut_rows_.resize(tight_.size() * cut_columns_.size());
    if (row >= m_)
        std::copy(own_cut_.begin(), own_cut_.end(),
                  cut_rows_.end() - static_cast<std::ptrdiff_t>(cut_columns_.size()));
}

// The logical variable of tight row t has become basic in this position: both leave.
void DualSimplex::make_loose(std::size_t position, std::size_t t) {
    inverse_.remove(position, t);
    const std::size_t last = tight_.size() - 1;
    if (tight_[t].row < m_) place_[at_index(tight_[t].row)] = -1;
    if (t != last) {
        tight_[t] = tight_[last];
        y_[t] = y_[last];
        if (tight_[t].row < m_) place_[at_index(tight_[t].row)] = static_cast<std::int32_t>(t);
        std::copy_n(cut_row(last), cut_columns_.size(), cut_rows_.data() + t * cut_columns_.size());
    }
    tight_.pop_back();
    y_.pop_back();
    cut_rows_.resize(tight_.size() * cut_columns_.size());
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
    if (entering < 0) return Step::none;
    const double alpha = entering < n_ ? alpha_[at_index(entering)] : rho_[at_index(entering - n_)];
    if (std::abs(alpha) < least_pivot && updates_ > 0) return Step::again;
    flip_passed();

    double& reduced = entering < n_ ? d_[at_index(entering)] : y_[at_index(entering - n_)];
    double dual_step = reduced / alpha;
    if (dual_step * sign < 0.0) dual_step = 0.0;
    if (dual_step != 0.0) {
        for (const std::int32_t j : touched_) d_[at_index(j)] -= dual_step * alpha_[at_index(j)];
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
    for (std::size_t p = 0; p < k; ++p)
        if (basic_[p] >= 0 && column_[p] != 0.0) move(at_index(basic_[p]), -step * column_[p]);
    inverse_.exchange(position, column_);
    updates_ = is_in_doubt ? updates_between_factors : updates_ + 1;
    ++clock_;
    for (std::size_t p = 0; p < k; ++p)
        if (basic_[p] >= 0 && column_[p] != 0.0) column_changed_[at_index(basic_[p])] = clock_;
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

void DualSimplex::compute_everything() {
    compute_duals();
    is_usable_ = choose_sides();
    if (is_usable_) compute_primal();
}

bool DualSimplex::solve() {
    iterations_ = 0;
    if (is_usable_ && !are_duals_known_) compute_duals();
    if (is_usable_ && !choose_sides()) begin_from_slacks();
    if (!is_usable_) return false;
    compute_primal();
    bool is_fresh = true;  // whether values and duals come from the inverse, not from steps
    int renewals = 0;
    while (is_usable_) {
        Leaving leaving = choose_leaving();
        if (!leaving.exists) leaving = violated_cut();
        if (!leaving.exists) {
            if (is_fresh && is_exact_ && is_dual_right()) return true;
            if (++renewals > most_renewals) return false;
            if (is_fresh) factor();
            compute_everything();
            is_fresh = true;
            continue;
        }
        if (iterations_ >= iteration_limit_) return false;
        const Step step = updates_ < updates_between_factors ? pivot(leaving) : Step::again;
        if (step == Step::none) return false;
        if (step == Step::again) {
            factor();
            compute_everything();
        } else {
            ++iterations_;
        }
        is_fresh = step == Step::again;
    }
    return false;
}

// Whether every tight row, evaluated with the matrix itself, is where it should be; change_ = by how much it is
// not.
bool DualSimplex::are_tight_rows_right() {
    bool is_right = true;
    for (std::size_t t = 0; t < tight_.size(); ++t) {
        const double bound = side(tight_[t]);
        change_[t] = bound - activity(tight_[t].row, cut_row(t));
        is_right &= std::abs(change_[t]) <= slack_tolerance(bound);
    }
    return is_right;
}

bool DualSimplex::is_dual_right() {
    for (std::size_t j = 0; j < d_.size(); ++j) {
        const double limit = slack_tolerance(program_.cost[j]);
        if (at_[j] == At::basic || at_[j] == At::zero) {
            if (!(std::abs(d_[j]) <= limit)) return false;
        } else if (program_.column_lower[j] != program_.column_upper[j]) {
            if (!((at_[j] == At::lower ? -d_[j] : d_[j]) <= limit)) return false;
        }
    }
    for (std::size_t t = 0; t < tight_.size(); ++t) {
        if (row_lower(tight_[t].row) == row_upper(tight_[t].row)) continue;
        if (!((tight_[t].at == At::lower ? -y_[t] : y_[t]) <= tolerance_)) return false;
    }
    return true;
}

}  // namespace cobre::lp
