// Linear systems by Gaussian elimination, with the same bits on every machine.
//
// No LAPACK: its rounding depends on block shape, processor and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cobre::fitting {

struct Systems {
    std::size_t count;
    std::size_t unknowns;
    std::size_t right_sides;
};

// Replaces the right sides (count, unknowns, right_sides) by the solutions; `matrices` (count, unknowns, unknowns)
// are used up. The pivot of a column is its largest entry, the first of several equal ones. A system with a pivot
// below 2^-52 is marked in `is_singular`, and its solution means nothing.
void solve(Systems systems, std::span<double> matrices, std::span<double> right,
           std::span<std::uint8_t> is_singular) noexcept;

}  // namespace cobre::fitting
