// The cuts of one program, by slot. A cut is the row: future cost - sum_j coefficient_j x_j >= intercept.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace cobre::lp {

class CutPool {
public:
    explicit CutPool(std::size_t dimension) : dimension_(dimension) {}

    std::size_t dimension() const noexcept { return dimension_; }
    std::size_t slots() const noexcept { return rows_.size(); }
    double intercept(std::size_t slot) const noexcept { return rows_[slot][0]; }
    std::span<const double> coefficients(std::size_t slot) const noexcept { return {rows_[slot] + 1, dimension_}; }
    bool is_active(std::size_t slot) const noexcept { return active_[slot] != 0; }
    std::span<const std::uint8_t> active() const noexcept { return active_; }
    std::span<const std::int32_t> active_slots() const noexcept { return active_slots_; }
    // Grows with every change.
    std::size_t version() const noexcept { return version_; }
    // How often all cuts were removed: a slot may then hold another cut than before.
    std::size_t clearings() const noexcept { return clearings_; }

    // Both throw std::invalid_argument if a number is not finite; whatever they throw, nothing was added then.
    // `append` copies, `share` does not: `rows` (intercept, coefficients) hold all slots so far and then new ones,
    // and have to stay as they are until the pool gets other ones or is cleared.
    void append(std::span<const double> intercepts, std::span<const double> coefficients);
    void share(std::span<const double> rows);
    void set_active(std::span<const std::uint8_t> active);
    void clear() noexcept;

private:
    void check_finite(std::span<const double> rows) const;
    void make_room(std::size_t n);
    void add(const double* rows, std::size_t n) noexcept;  // where there is room

    std::size_t dimension_;
    std::vector<const double*> rows_;         // of each slot: the intercept, then the coefficients
    std::deque<std::vector<double>> copied_;  // what `append` got
    std::vector<std::uint8_t> active_;
    std::vector<std::int32_t> active_slots_;  // ascending
    std::size_t version_ = 0;
    std::size_t clearings_ = 0;
};

}  // namespace cobre::lp
