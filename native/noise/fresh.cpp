#include "noise/fresh.hpp"

#include <vector>

#include "noise/generator.hpp"
#include "noise/halton.hpp"
#include "noise/normal.hpp"
#include "noise/seeds.hpp"
#include "noise/shuffle.hpp"

namespace cobre::noise {

namespace {

// What all scenarios of a group have in common: permutations and scrambling.
Generator common_generator(const Draw& draw) noexcept {
    return Generator(opening_seed(draw.seed, draw.iteration, draw.group));
}

}  // namespace

void draw_saa(const Draw& draw, const Block& block) noexcept {
    for (std::size_t row = 0; row < block.rows; ++row) {
        const std::uint32_t scenario = draw.first + static_cast<std::uint32_t>(row);
        fill_normals(grouped_forward_seed(draw.seed, draw.iteration, scenario, draw.group),
                     {block.row(row), block.columns});
    }
}

void draw_lhs(const Draw& draw, const Block& block) {
    Generator generator = common_generator(draw);
    std::vector<std::uint32_t> strata(draw.total);
    for (std::size_t column = 0; column < block.columns; ++column) {
        shuffle(strata, generator);
        for (std::size_t row = 0; row < block.rows; ++row) block.row(row)[column] = strata[draw.first + row];
    }
    const auto n = static_cast<double>(draw.total);
    for (std::size_t row = 0; row < block.rows; ++row) {
        const std::uint32_t scenario = draw.first + static_cast<std::uint32_t>(row);
        Generator own(forward_seed(draw.seed, draw.iteration, scenario, draw.group));
        double* const values = block.row(row);
        for (std::size_t column = 0; column < block.columns; ++column) {
            values[column] = normal_of_uniform((values[column] + own.uniform52()) / n);
        }
    }
}

void draw_sobol(const Draw& draw, std::span<const std::uint32_t> directions, Scramble scramble,
                const Block& block) {
    Generator generator = common_generator(draw);
    sample_sobol(generator, directions, scramble, PointOrder::natural, draw.first, block);
}

void draw_halton(const Draw& draw, const Block& block) {
    Generator generator = common_generator(draw);
    sample_halton(generator, draw.total, draw.first, block);
}

}  // namespace cobre::noise
