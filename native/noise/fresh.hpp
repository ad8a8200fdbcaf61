// Fresh noise of trajectories, independent of the opening tree: the rows of a block are scenarios.
#pragma once

#include <cstdint>
#include <span>

#include "noise/block.hpp"
#include "noise/sobol.hpp"

namespace cobre::noise {

// Which trajectories of which iteration, in which noise group; all stages of a group get the same noise.
struct Draw {
    std::uint64_t seed;
    std::uint32_t iteration;
    std::uint32_t group;
    std::uint32_t first;  // number of the scenario in the first row
    std::uint32_t total;  // scenarios of the iteration, over all ranks
};

// Independent draws: every scenario has a generator of its own.
void draw_saa(const Draw& draw, const Block& block) noexcept;

// Latin hypercube over all scenarios of the iteration, of which the block has some.
void draw_lhs(const Draw& draw, const Block& block);

// Scrambled Sobol points: scenario s has point s in natural order.
void draw_sobol(const Draw& draw, std::span<const std::uint32_t> directions, Scramble scramble,
                const Block& block);

// Halton points of a set as large as the iteration: scenario s has point s.
void draw_halton(const Draw& draw, const Block& block);

}  // namespace cobre::noise
