// Noise of the opening tree: the rows of a block are the openings of one stage.
#pragma once

#include <cstdint>
#include <span>

#include "noise/block.hpp"
#include "noise/sobol.hpp"

namespace cobre::noise {

// Sample average approximation: every opening has a generator of its own, entities follow one another.
void sample_saa(std::uint64_t base, std::uint32_t stage_id, const Block& block) noexcept;

// Latin hypercube: in every column each of the `rows` equally likely strata is met exactly once.
void sample_lhs(std::uint64_t base, std::uint32_t stage_id, const Block& block);

// The openings that the scenarios `first .. first + count` meet in every stage, row by row.
void draw_openings(std::uint64_t base, std::uint32_t iteration, std::uint32_t first, std::uint32_t count,
                   std::span<const std::uint32_t> openings_per_stage, std::span<std::int32_t> out) noexcept;

}  // namespace cobre::noise
