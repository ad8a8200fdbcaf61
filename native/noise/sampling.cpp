#include "noise/sampling.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "noise/generator.hpp"
#include "noise/normal.hpp"
#include "noise/seeds.hpp"

namespace cobre::noise {

namespace {

void fill_normals(std::uint64_t seed, std::span<double> out) noexcept {
    Generator generator(seed);
    for (double& value : out) value = draw_normal(generator);
}

// Fisher-Yates from the last place down.
void shuffle(std::span<std::uint32_t> items, Generator& generator) noexcept {
    for (std::size_t i = items.size(); i-- > 1;) {
        std::swap(items[i], items[generator.below(static_cast<std::uint32_t>(i + 1))]);
    }
}

}  // namespace

void sample_saa(std::uint64_t base, std::uint32_t stage_id, Shape shape, std::span<double> out) noexcept {
    for (std::size_t row = 0; row < shape.rows; ++row) {
        const std::uint64_t seed = opening_seed(base, static_cast<std::uint32_t>(row), stage_id);
        fill_normals(seed, out.subspan(row * shape.columns, shape.columns));
    }
}

void sample_lhs(std::uint64_t base, std::uint32_t stage_id, Shape shape, std::span<double> out) {
    constexpr double lowest = std::numeric_limits<double>::min();
    constexpr double highest = 1.0 - std::numeric_limits<double>::epsilon();
    Generator generator(stage_seed(base, stage_id));
    std::vector<double> probabilities(shape.rows);
    std::vector<std::uint32_t> places(shape.rows);
    const auto n = static_cast<double>(shape.rows);
    for (std::size_t column = 0; column < shape.columns; ++column) {
        for (std::size_t k = 0; k < shape.rows; ++k) {
            const double p = (static_cast<double>(k) + generator.uniform52()) / n;
            probabilities[k] = std::clamp(p, lowest, highest);
        }
        std::iota(places.begin(), places.end(), 0u);
        shuffle(places, generator);
        for (std::size_t k = 0; k < shape.rows; ++k) {
            out[places[k] * shape.columns + column] = normal_quantile(probabilities[k]);
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

void draw_fresh(std::uint64_t base, std::uint32_t iteration, std::uint32_t first, std::uint32_t count,
                std::span<const std::uint32_t> groups, std::size_t columns, std::span<double> out) noexcept {
    std::size_t at = 0;
    for (std::uint32_t scenario = first; scenario != first + count; ++scenario) {
        for (std::size_t stage = 0; stage < groups.size(); ++stage, at += columns) {
            const std::span<double> row = out.subspan(at, columns);
            if (stage > 0 && groups[stage] == groups[stage - 1]) {
                std::ranges::copy(out.subspan(at - columns, columns), row.begin());
            } else {
                fill_normals(grouped_forward_seed(base, iteration, scenario, groups[stage]), row);
            }
        }
    }
}

}  // namespace cobre::noise
