// The part of the dual simplex method that knows cuts.
#include <algorithm>

#include "lp/kernels.hpp"
#include "lp/simplex.hpp"

namespace cobre::lp {

namespace {

// Cuts that fill more than this part of a range of columns are added up from end to end.
constexpr std::size_t dense_share = 4;

}  // namespace

void DualSimplex::find_cut_columns() {
    for (const std::int32_t j : cut_columns_) is_in_cuts_[at_index(j)] = 1;
    is_state_ = is_in_cuts_;
    if (cut_columns_.empty()) return;
    is_state_[at_index(cut_columns_.front())] = 0;
    for (const std::int32_t row : cuts_.defining_rows())
        for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e) {
            if (is_in_cuts_[at_index(e->index)] == 0) cut_columns_.push_back(e->index);
            is_in_cuts_[at_index(e->index)] = 1;
        }
    const auto [first, last] = std::ranges::minmax(cut_columns_);
    first_in_cuts_ = first;
    end_of_cuts_ = last + 1;
    are_cuts_wide_ = cut_columns_.size() * dense_share > at_index(end_of_cuts_ - first_in_cuts_);
}

// The entries of a cut by column: its own, and those of rows that define other columns of it.
void DualSimplex::gather_cut(std::int32_t row, std::vector<double>& out) const {
    out.assign(at_index(n_), 0.0);
    const std::size_t k = at_index(row - m_), n_own = cuts_.columns().size();
    for (std::size_t j = 0; j < n_own; ++j) out[at_index(cut_columns_[j])] = cuts_.entry(j, k);
    for (std::size_t d = 0; d < cuts_.defining_rows().size(); ++d) {
        const double factor = cuts_.entry(n_own + d, k);
        const std::size_t i = at_index(cuts_.defining_rows()[d]);
        if (factor == 0.0) continue;
        for (const Entry* e = by_row_.begin(i); e != by_row_.end(i); ++e)
            out[at_index(e->index)] += factor * e->value;
    }
}

// The tight row t, the last of them that is a cut, has the entries own_cut_.
void DualSimplex::keep_cut(std::size_t t) {
    tight_[t].cut = static_cast<std::int32_t>(tight_cuts_.size());
    tight_cuts_.push_back(t);
    cut_rows_.insert(cut_rows_.end(), own_cut_.begin(), own_cut_.end());
}

// The last entries take the place of those of t.
void DualSimplex::forget_cut(std::size_t t) {
    std::erase(tight_cuts_, t);
    const auto last = static_cast<std::int32_t>(tight_cuts_.size());
    for (const std::size_t other : tight_cuts_)
        if (tight_[other].cut == last) {
            std::copy_n(cut_row(other), n_, cut_rows_.data() + at_index(tight_[t].cut) * at_index(n_));
            tight_[other].cut = tight_[t].cut;
        }
    cut_rows_.resize(tight_cuts_.size() * at_index(n_));
}

// out[column] += factor * cut[column]
void DualSimplex::add_cut(const double* cut, double factor, double* out) const noexcept {
    if (are_cuts_wide_)
        add_multiple_of_any(out + first_in_cuts_, factor, cut + first_in_cuts_,
                            at_index(end_of_cuts_ - first_in_cuts_));
    else
        for (const std::int32_t j : cut_columns_) out[j] += factor * cut[j];
}

DualSimplex::Leaving DualSimplex::violated_cut() {
    double violation = 0.0;
    const std::int32_t row = cuts_.most_violated(x_, activity_, program_.cut_lower, evaluation_, violation);
    if (row < 0 || !(violation > slack_tolerance(program_.cut_lower[at_index(row)]))) return {};
    for (const std::size_t t : tight_cuts_)
        if (tight_[t].row == m_ + row) return {};  // as exact as the inverse: `are_tight_rows_right` judges it
    return {true, true, m_ + row, false};
}

}  // namespace cobre::lp
