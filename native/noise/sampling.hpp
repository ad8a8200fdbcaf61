// Noise for whole stages: rows are openings or scenarios, columns are entities.
#pragma once

#include <cstdint>
#include <span>

namespace cobre::noise {

struct Shape {
    std::size_t rows;
    std::size_t columns;
};

// Sample average approximation: every opening has a generator of its own, entities follow one another.
void sample_saa(std::uint64_t base, std::uint32_t stage_id, Shape shape, std::span<double> out) noexcept;

// Latin hypercube: in every column each of the `rows` equally likely strata is met exactly once.
void sample_lhs(std::uint64_t base, std::uint32_t stage_id, Shape shape, std::span<double> out);

// The openings that the scenarios `first .. first + count` meet in every stage, row by row.
void draw_openings(std::uint64_t base, std::uint32_t iteration, std::uint32_t first, std::uint32_t count,
                   std::span<const std::uint32_t> openings_per_stage, std::span<std::int32_t> out) noexcept;

// Fresh noise of the scenarios `first .. first + count`: scenario by scenario, stage by stage, entity by entity.
// Stages of one group get the same numbers.
void draw_fresh(std::uint64_t base, std::uint32_t iteration, std::uint32_t first, std::uint32_t count,
                std::span<const std::uint32_t> groups, std::size_t columns, std::span<double> out) noexcept;

}  // namespace cobre::noise
