// Halton points with random digit permutations.
#pragma once

#include <cstdint>
#include <vector>

#include "noise/block.hpp"
#include "noise/generator.hpp"

namespace cobre::noise {

// The first prime numbers.
std::vector<std::uint32_t> first_primes(std::size_t count);

// Fills the rows with the points first, first + 1, ... of a set of `points` as normal numbers.
//
// Dimension d uses the d-th prime b and as many digits as the last point has in base b. Each digit, a leading 0
// too, has a permutation of its own, drawn from `generator`; the point lies in the middle of its cell. So no two
// points of the set share a coordinate.
void sample_halton(Generator& generator, std::uint32_t points, std::uint32_t first, const Block& block);

}  // namespace cobre::noise
