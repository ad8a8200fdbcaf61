// Correlated noise from independent noise, in sums whose order never changes.
//
// No BLAS or LAPACK: their rounding depends on block shape, processor and threads.
#pragma once

#include <cstdint>
#include <span>

namespace cobre::noise {

// Puts D = V sqrt(max(lambda, 0)) V^T of the symmetric n x n `matrix` into `root`: the symmetric matrix with
// D D = matrix, also where the matrix is singular or rounding made it slightly indefinite. The eigenvectors come
// from cyclic Jacobi rotations. Returns the smallest eigenvalue.
double square_root(std::span<const double> matrix, std::size_t n, std::span<double> root);

// Replaces the numbers at `positions` of every row of `noise` by D times them.
void correlate(std::span<const double> root, std::span<const std::int64_t> positions, std::size_t columns,
               std::span<double> noise);

}  // namespace cobre::noise
