// Correlations between series with missing values, summed in order of dates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cobre::fitting {

// Puts into `matrix` (series, series) the Pearson correlation of each pair of the rows of `values` (series, dates)
// over the dates at which neither is NaN, and their number into `common`. 0 with fewer than two such dates or
// where a deviation is below 2^-52; kept within -1 and 1; exactly 1 on the diagonal.
void pearson(std::span<const double> values, std::size_t series, std::size_t dates, std::span<double> matrix,
             std::span<std::int64_t> common) noexcept;

}  // namespace cobre::fitting
