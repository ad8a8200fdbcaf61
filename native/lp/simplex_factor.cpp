// The part of the dual simplex method that inverts a basis.
#include <algorithm>
#include <cmath>

#include "lp/kernels.hpp"
#include "lp/simplex.hpp"

namespace cobre::lp {

namespace {

constexpr double singular = 1e-9;
constexpr double preference = 0.1;  // a pivot that keeps zeros is taken if it is this part of the largest

}  // namespace

// Columns in an order that creates few numbers, each with the row it should be exchanged in: first those that have
// one open row left or are alone in one, again and again; then the others, those with fewer open rows first.
void DualSimplex::order_columns() {
    const std::size_t k = tight_.size();
    order_.clear();
    open_columns_.assign(k, 0);
    open_rows_.assign(at_index(n_), 0);
    const auto each_row = [this](std::int32_t column, auto&& use) {
        const std::size_t j = at_index(column);
        for (const Entry* e = by_column_.begin(j); e != by_column_.end(j); ++e)
            if (place_[at_index(e->index)] >= 0) use(at_index(place_[at_index(e->index)]));
        if (is_in_cuts_[j] != 0)
            for (const std::size_t t : tight_cuts_)
                if (cut_row(t)[j] != 0.0) use(t);
    };
    const auto each_column = [this](std::size_t t, auto&& use) {
        const std::int32_t row = tight_[t].row;
        if (row < m_) {
            for (const Entry* e = by_row_.begin(at_index(row)); e != by_row_.end(at_index(row)); ++e)
                if (at_[at_index(e->index)] == At::basic) use(e->index);
        } else {
            for (const std::int32_t j : cut_columns_)
                if (at_[at_index(j)] == At::basic && cut_row(t)[j] != 0.0) use(j);
        }
    };
    for (const std::int32_t column : basic_)
        each_row(column, [&](std::size_t t) {
            ++open_columns_[t];
            ++open_rows_[at_index(column)];
        });
    std::vector<std::int32_t>& single = passed_;  // columns, and n_ + row
    single.clear();
    for (const std::int32_t column : basic_)
        if (open_rows_[at_index(column)] == 1) single.push_back(column);
    for (std::size_t t = 0; t < k; ++t)
        if (open_columns_[t] == 1) single.push_back(n_ + static_cast<std::int32_t>(t));
    const auto take = [&](std::int32_t column, std::size_t t) {
        order_.push_back({column, static_cast<std::int32_t>(t)});
        open_rows_[at_index(column)] = -1;
        open_columns_[t] = -1;
        each_row(column, [&](std::size_t other) {
            if (open_columns_[other] > 0 && --open_columns_[other] == 1)
                single.push_back(n_ + static_cast<std::int32_t>(other));
        });
        each_column(t, [&](std::int32_t other) {
            if (open_rows_[at_index(other)] > 0 && --open_rows_[at_index(other)] == 1) single.push_back(other);
        });
    };
    for (std::size_t next = 0; next < single.size(); ++next) {
        if (single[next] < n_) {
            const std::int32_t column = single[next];
            if (open_rows_[at_index(column)] != 1) continue;
            std::size_t found = k;
            each_row(column, [&](std::size_t t) {
                if (open_columns_[t] >= 0) found = t;
            });
            if (found < k) take(column, found);
        } else {
            const std::size_t t = at_index(single[next] - n_);
            if (open_columns_[t] != 1) continue;
            std::int32_t found = -1;
            each_column(t, [&](std::int32_t column) {
                if (open_rows_[at_index(column)] >= 0) found = column;
            });
            if (found >= 0) take(found, t);
        }
    }
    const auto first = static_cast<std::ptrdiff_t>(order_.size());
    for (const std::int32_t column : basic_)
        if (open_rows_[at_index(column)] >= 0) order_.push_back({column, -1});
    std::stable_sort(order_.begin() + first, order_.end(), [this](const Placed& a, const Placed& b) {
        return open_rows_[at_index(a.column)] < open_rows_[at_index(b.column)];
    });
}

// Exchanges logical columns for basic ones, one by one. A column without a usable pivot becomes nonbasic, a row
// that is left over becomes loose.
void DualSimplex::factor() {
    const std::size_t k = tight_.size();
    std::fill(place_.begin(), place_.end(), -1);
    tight_cuts_.clear();
    cut_rows_.clear();
    for (std::size_t t = 0; t < k; ++t) {
        const std::int32_t row = tight_[t].row;
        if (row < m_) {
            place_[at_index(row)] = static_cast<std::int32_t>(t);
        } else {
            gather_cut(row, own_cut_);
            keep_cut(t);
        }
    }
    inverse_.reset(k);
    order_columns();
    std::vector<std::int32_t> in_row(k, -1);
    y_.assign(k, 0.0);
    for (const auto& [column, row] : order_) {
        column_times_inverse(column, column_);
        std::size_t best = k;
        double largest = singular;
        found_.resize(std::max(found_.size(), k + kernel_room));
        const std::size_t n_found = filled(column_.data(), k, found_.data());
        for (std::size_t f = 0; f < n_found; ++f) {
            const std::size_t t = at_index(found_[f]);
            if (in_row[t] < 0 && std::abs(column_[t]) > largest) {
                largest = std::abs(column_[t]);
                best = t;
            }
        }
        if (row >= 0 && in_row[at_index(row)] < 0 && std::abs(column_[at_index(row)]) >= preference * largest &&
            best < k)
            best = at_index(row);
        if (best == k) {
            at_[at_index(column)] = At::lower;
            position_[at_index(column)] = -1;
            continue;
        }
        inverse_.exchange(best, column_);
        in_row[best] = column;
    }
    basic_ = in_row;
    for (std::size_t p = 0; p < k; ++p)
        if (basic_[p] >= 0) position_[at_index(basic_[p])] = static_cast<std::int32_t>(p);
    for (std::size_t p = k; p-- > 0;)
        if (basic_[p] < 0) make_loose(p, p);
    updates_ = 0;
    forget_norms();
}

}  // namespace cobre::lp
