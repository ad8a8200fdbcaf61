// Sobol points: the direction numbers of Joe and Kuo, two ways to scramble them, normal numbers from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noise/block.hpp"
#include "noise/generator.hpp"

namespace cobre::noise {

constexpr std::size_t sobol_bits = 32;

// Direction numbers v_1 .. v_32 of the first dimensions, dimension after dimension.
//
// `table` is a stream of bits, the least significant bit of a byte first. It has a record for every dimension from
// the second one on: the degree s of the polynomial (5 bits), its inner coefficients a (s - 1 bits), and
// (m_i - 1) / 2 for i = 1 .. s (i - 1 bits each). Empty if the table ends before the last dimension.
std::vector<std::uint32_t> sobol_directions(std::span<const std::byte> table, std::size_t dimensions);

enum class Scramble {
    multiply,  // a x + b mod 2^32 with odd a: keeps the strata of each dimension, not those of several together
    matrix,    // L x + b over bits with a unit lower-triangular L: keeps the strata of all dimensions together
};

enum class PointOrder {
    gray,     // point i has the number i ^ (i >> 1): the order in which each point differs in one bit
    natural,  // point i has the number i
};

// Fills the rows with the points first, first + 1, ... as normal numbers. The scrambling of dimension after
// dimension is drawn from `generator`; `directions` has 32 numbers per column.
void sample_sobol(Generator& generator, std::span<const std::uint32_t> directions, Scramble scramble,
                  PointOrder order, std::uint32_t first, const Block& block);

}  // namespace cobre::noise
