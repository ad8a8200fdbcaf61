// Standard normal numbers: drawn from a generator, or as the quantile of a probability.
#pragma once

#include <array>
#include <span>

#include "noise/generator.hpp"

namespace cobre::noise {

// The 256 layers of the ziggurat: right edges x_0 > x_1 > ... > x_256 = 0, and exp(-x_i^2 / 2).
//
// x_0 = V / f(R), x_1 = R, x_i = f^-1(V / x_{i-1} + f(x_{i-1})) with R = 3.654152885361008796 and
// V = 0.00492867323399, computed in double precision and rounded to 18 decimals. V is short on purpose: the
// published tables were made with it.
extern const std::array<double, 257> ziggurat_edges;
extern const std::array<double, 257> ziggurat_densities;

// One normal number (Doornik's ZIGNOR). Takes one number of the generator in 98.8 % of cases.
double draw_normal(Generator& generator) noexcept;

// Normal numbers from a generator of their own.
void fill_normals(std::uint64_t seed, std::span<double> out) noexcept;

// The x with P(N <= x) = p by Beasley, Springer and Moro; error below 3e-9. 0 < p < 1.
// One constant differs from Moro's by 6e-14, as in the case format: up to 2e-11 in the tails.
double normal_quantile(double p) noexcept;

// The quantile of a number from [0, 1], whose ends are moved inside by the smallest steps.
double normal_of_uniform(double u) noexcept;

}  // namespace cobre::noise
