// The part of a matrix of noise that a sampler fills: all rows, some neighbouring columns.
#pragma once

#include <cstddef>

namespace cobre::noise {

struct Block {
    double* values;       // the first column to fill in the first row
    std::size_t rows;     // openings or scenarios
    std::size_t columns;  // entities
    std::size_t stride;   // numbers from a row to the next one

    double* row(std::size_t i) const noexcept { return values + i * stride; }
};

}  // namespace cobre::noise
