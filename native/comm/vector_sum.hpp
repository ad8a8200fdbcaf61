// Sums of floating-point rows with the vector unit: the same additions in the same order, several columns at a
// time.
#pragma once

#include <cstddef>
#include <span>

namespace cobre::comm {

// Whether this processor has what the functions below need; without it they do nothing.
bool has_vector_sum() noexcept;

// 128 bytes: so many columns are summed at once.
template <class T>
constexpr std::size_t columns_per_group = 128 / sizeof(T);

constexpr std::size_t vector_bytes = 32;

// Puts the sum of the rows' columns `first .. first + count` into `out` and returns how many columns that were.
// Stops before a group of columns with a NaN in the result, which the caller must fold by the rules for NaN, and
// before the last few. `out` may be exactly one of the rows. For float and double.
// `around_cache`: with streaming stores, for which `out + first` must begin a vector and which the caller orders
// with `finish_streaming`.
template <class T>
std::size_t sum_columns(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
                        std::byte* out, bool around_cache) noexcept;
void finish_streaming() noexcept;

}  // namespace cobre::comm
