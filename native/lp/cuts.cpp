#include "lp/cuts.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace cobre::lp {

void CutPool::append(std::span<const double> intercepts, std::span<const double> coefficients) {
    for (std::size_t k = 0; k < intercepts.size(); ++k) {
        bool is_finite = std::isfinite(intercepts[k]);
        for (std::size_t j = 0; j < dimension_; ++j) is_finite &= std::isfinite(coefficients[k * dimension_ + j]);
        if (!is_finite)
            throw std::invalid_argument("cut " + std::to_string(k) +
                                        " of those to be added has a number that is not finite\n  fix: the "
                                        "intercept and the coefficients of a cut must be finite");
    }
    ++version_;
    for (std::size_t k = 0; k < intercepts.size(); ++k)
        active_slots_.push_back(static_cast<std::int32_t>(slots() + k));
    active_.insert(active_.end(), intercepts.size(), 1);
    intercepts_.insert(intercepts_.end(), intercepts.begin(), intercepts.end());
    coefficients_.insert(coefficients_.end(), coefficients.begin(), coefficients.end());
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
    intercepts_.clear();
    coefficients_.clear();
    active_.clear();
    active_slots_.clear();
}

}  // namespace cobre::lp
