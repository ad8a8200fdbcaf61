// Order statistics of many columns without sorting them.
#pragma once

#include <cstddef>
#include <span>

namespace cobre::output {

// Values [scenario, place]; the places of a scenario lie side by side.
struct Columns {
    const double* values;
    std::size_t scenarios, places, stride;  // stride: from one scenario to the next
};

// What would be at `ranks` (ascending) of each place if its values were sorted, into `found` [place, rank]. Where
// a place has a value that is no number, all of its ranks are that.
void values_at_ranks(const Columns& columns, std::span<const std::size_t> ranks, std::span<double> found);

}  // namespace cobre::output
