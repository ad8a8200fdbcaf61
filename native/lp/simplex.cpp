#include "lp/simplex.hpp"

#include <algorithm>
#include <cmath>

#include "lp/kernels.hpp"

namespace cobre::lp {

namespace {

constexpr int most_renewals = 4;  // of values and duals, in one solve
constexpr double doubt = 1e-7;    // a reduced cost of the wrong sign that rounding may have made

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
      cut_columns_(cuts.columns().begin(), cuts.columns().end()),
      is_in_cuts_(at_index(n_), 0),
      is_state_(at_index(n_), 0),
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
      touched_(at_index(n_) + 1),  // one more: without a branch, a column that is known is written, too
      is_touched_(at_index(n_), 0),
      found_(at_index(std::max(n_, m_)) + kernel_room) {
    find_cut_columns();
}

// `cut` are the entries of the row if it is a cut.
double DualSimplex::activity(std::int32_t row, const double* cut) const noexcept {
    double sum = 0.0;
    if (row < m_) {
        for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
            sum += e->value * x_[at_index(e->index)];
    } else {
        for (const std::int32_t j : cut_columns_) sum += cut[j] * x_[at_index(j)];
    }
    return sum;
}

void DualSimplex::begin_from_slacks() {
    basic_.clear();
    tight_.clear();
    tight_cuts_.clear();
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
        kept->tight_cuts = tight_cuts_;
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
    tight_cuts_ = kept.tight_cuts;
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
            add_cut(cut_row(t), -y, d_.data());
        }
    }
    are_duals_known_ = true;
}

// Puts every nonbasic variable at the bound that its reduced cost requires. False if a bound that is needed does
// not exist. What is wrong by no more than rounding may be right again at the end, when `is_dual_right` judges it.
bool DualSimplex::choose_sides() {
    has_free_ = false;
    const double *lower = program_.column_lower.data(), *upper = program_.column_upper.data();
    for (std::size_t j = 0; j < at_.size(); ++j) {
        const double low = lower[j], high = upper[j];
        if (at_[j] == At::lower && d_[j] >= -tolerance_ && low != -INFINITY) {  // nearly all: stays
            x_[j] = low;
            way_[j] = low == high ? 0.0 : 1.0;
            continue;
        }
        way_[j] = 0.0;
        if (at_[j] == At::basic) continue;
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
    double* x = x_.data();
    for (const std::int32_t j : basic_) x[j] = 0.0;  // no part of what is nonbasic
    for (std::size_t t = 0; t < k; ++t) {
        const std::int32_t row = tight_[t].row;
        double rest = side(tight_[t]);
        if (row < m_) {
            const Entry* end = by_row_.end(at_index(row));
            for (const Entry* e = by_row_.begin(at_index(row)); e != end; ++e) rest -= e->value * x[e->index];
        } else {
            const double* entries = cut_row(t);
            for (const std::int32_t j : cut_columns_) rest -= entries[j] * x[j];
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
    for (std::int32_t i = 0; i < m_; ++i) {
        const std::int32_t t = place_[at_index(i)];
        activity_[at_index(i)] = t < 0 ? activity(i, nullptr) : side(tight_[at_index(t)]);
    }
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
        for (const std::int32_t j : cut_columns_) add(j, own_cut_[at_index(j)]);
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
        row_norm_[row] = 1.0 + dot_of_any(rho_.data(), rho_.data(), rho_.size());
        row_normed_[row] = clock_;
    }
    return row_norm_[row];
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
    const double *x = x_.data(), *low = program_.column_lower.data(), *high = program_.column_upper.data();
    const std::int32_t* basic = basic_.data();
    for (std::size_t p = 0, k = basic_.size(); p < k; ++p) {
        const std::size_t j = at_index(basic[p]);
        consider(x[j], low[j], high[j], false, p);
    }
    low = program_.row_lower.data(), high = program_.row_upper.data();
    const std::size_t n_found = outside(activity_.data(), low, high, tolerance_, at_index(m_), found_.data());
    for (std::size_t f = 0; f < n_found; ++f) {
        const std::size_t i = at_index(found_[f]);
        if (place_[i] < 0) consider(activity_[i], low[i], high[i], true, i);
    }
    return best;
}

// From the inverse, and violations of cuts from all of their terms when they are looked at next.
void DualSimplex::compute_everything() {
    evaluation_.x.clear();
    compute_duals();
    is_usable_ = choose_sides();
    if (is_usable_) compute_primal();
}

bool DualSimplex::solve() {
    iterations_ = 0;
    evaluation_.x.clear();
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
