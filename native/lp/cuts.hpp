// The cuts of one program, by slot. A cut is the row: future cost - sum_j coefficient_j x_j >= intercept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cobre::lp {

class CutPool {
public:
    explicit CutPool(std::size_t dimension) : dimension_(dimension) {}

    std::size_t dimension() const noexcept { return dimension_; }
    std::size_t slots() const noexcept { return intercepts_.size(); }
    double intercept(std::size_t slot) const noexcept { return intercepts_[slot]; }
    std::span<const double> coefficients(std::size_t slot) const noexcept {
        return std::span(coefficients_).subspan(slot * dimension_, dimension_);
    }
    bool is_active(std::size_t slot) const noexcept { return active_[slot] != 0; }
    std::span<const std::uint8_t> active() const noexcept { return active_; }
    std::span<const std::int32_t> active_slots() const noexcept { return active_slots_; }
    // Grows with every change.
    std::size_t version() const noexcept { return version_; }
    // How often all cuts were removed: a slot may then hold another cut than before.
    std::size_t clearings() const noexcept { return clearings_; }

    // Throws std::invalid_argument if a number is not finite; then nothing was added.
    void append(std::span<const double> intercepts, std::span<const double> coefficients);
    void set_active(std::span<const std::uint8_t> active);
    void clear() noexcept;

private:
    std::size_t dimension_;
    std::vector<double> intercepts_;
    std::vector<double> coefficients_;
    std::vector<std::uint8_t> active_;
    std::vector<std::int32_t> active_slots_;  // ascending
    std::size_t version_ = 0;
    std::size_t clearings_ = 0;
};

}  // namespace cobre::lp
