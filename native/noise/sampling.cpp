#include "noise/sampling.hpp"

#include <vector>

#include "noise/generator.hpp"
#include "noise/normal.hpp"
#include "noise/seeds.hpp"
#include "noise/shuffle.hpp"

namespace cobre::noise {

void sample_saa(std::uint64_t base, std::uint32_t stage_id, const Block& block) noexcept {
    for (std::size_t row = 0; row < block.rows; ++row) {
        const std::uint64_t seed = opening_seed(base, static_cast<std::uint32_t>(row), stage_id);
        fill_normals(seed, {block.row(row), block.columns});
    }
}

void sample_lhs(std::uint64_t base, std::uint32_t stage_id, const Block& block) {
    Generator generator(stage_seed(base, stage_id));
    std::vector<double> probabilities(block.rows);
    std::vector<std::uint32_t> places(block.rows);
    const auto n = static_cast<double>(block.rows);
    for (std::size_t column = 0; column < block.columns; ++column) {
        for (std::size_t k = 0; k < block.rows; ++k) {
            probabilities[k] = (static_cast<double>(k) + generator.uniform52()) / n;
        }
        shuffle(places, generator);
        for (std::size_t k = 0; k < block.rows; ++k) {
            block.row(places[k])[column] = normal_of_uniform(probabilities[k]);
        }
    }
}

void draw_openings(std::uint64_t base, std::uint32_t iteration, std::uint32_t first, std::uint32_t count,
                   std::span<const std::uint32_t> openings_per_stage, std::span<std::int32_t> out) noexcept {
    std::size_t at = 0;
    for (std::uint32_t scenario = first; scenario != first + count; ++scenario) {
        for (std::uint32_t stage = 0; stage < openings_per_stage.size(); ++stage) {
            Generator generator(forward_seed(base, iteration, scenario, stage));
            out[at++] = static_cast<std::int32_t>(generator.below(openings_per_stage[stage]));
        }
    }
}

}  // namespace cobre::noise
