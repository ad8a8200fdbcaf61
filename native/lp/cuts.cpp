#include "lp/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace cobre::lp {

void CutPool::check_finite(std::span<const double> rows) const {
    const std::size_t width = 1 + dimension_;
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (!std::isfinite(rows[k]))
            throw std::invalid_argument("cut " + std::to_string(k / width) +
                                        " of those to be added has a number that is not finite\n  fix: the "
                                        "intercept and the coefficients of a cut must be finite");
}

void CutPool::make_room(std::size_t n) {
    const auto grow = [n](auto& slots) {
        if (slots.capacity() - slots.size() < n) slots.reserve(std::max(slots.size() + n, 2 * slots.size()));
    };
    grow(rows_);
    grow(active_);
    grow(active_slots_);
}

void CutPool::add(const double* rows, std::size_t n) noexcept {
    ++version_;
    for (std::size_t k = 0; k < n; ++k) {
        active_slots_.push_back(static_cast<std::int32_t>(slots()));
        rows_.push_back(rows + k * (1 + dimension_));
    }
    active_.insert(active_.end(), n, 1);
}

void CutPool::append(std::span<const double> intercepts, std::span<const double> coefficients) {
    std::vector<double> rows;
    rows.reserve(intercepts.size() + coefficients.size());
    for (std::size_t k = 0; k < intercepts.size(); ++k) {
        rows.push_back(intercepts[k]);
        const auto own = coefficients.subspan(k * dimension_, dimension_);
        rows.insert(rows.end(), own.begin(), own.end());
    }
    check_finite(rows);
    make_room(intercepts.size());
    copied_.push_back(std::move(rows));
    add(copied_.back().data(), intercepts.size());
}

void CutPool::share(std::span<const double> rows) {
    const std::size_t width = 1 + dimension_, known = slots();
    check_finite(rows.subspan(known * width));
    make_room(rows.size() / width - known);
    if (known > 0 && (rows_.front() != rows.data() || !copied_.empty()))
        for (std::size_t slot = 0; slot < known; ++slot) rows_[slot] = rows.data() + slot * width;
    copied_.clear();
    add(rows.data() + known * width, rows.size() / width - known);
}

void CutPool::set_active(std::span<const std::uint8_t> active) {
    ++version_;
    active_.assign(active.begin(), active.end());
    active_slots_.clear();
    for (std::size_t slot = 0; slot < active_.size(); ++slot)
        if (active_[slot] != 0) active_slots_.push_back(static_cast<std::int32_t>(slot));
}

void CutPool::clear() noexcept {
    ++version_;
    ++clearings_;
    rows_.clear();
    copied_.clear();
    active_.clear();
    active_slots_.clear();
}

}  // namespace cobre::lp
