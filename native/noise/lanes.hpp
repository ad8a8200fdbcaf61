// Four doubles at once, on processors that have such vectors and on those that do it in two steps.
//
// Lanes hold different sums, never parts of one: every sum keeps its order, nothing is fused, and the bits are
// those of plain code.
#pragma once

#include <cstddef>
#include <cstring>

namespace cobre::noise {

using Lanes [[gnu::vector_size(32)]] = double;
constexpr std::size_t lane_count = 4;
constexpr std::size_t tile_width = 2 * lane_count;  // sums that a kernel has at once for each row

[[gnu::always_inline]] inline void load(const double* from, Lanes& to) noexcept {
    std::memcpy(&to, from, sizeof to);
}

[[gnu::always_inline]] inline void store(double* to, const Lanes& from) noexcept {
    std::memcpy(to, &from, sizeof from);
}

// n rounded up to whole tiles.
constexpr std::size_t padded(std::size_t n) noexcept { return (n + tile_width - 1) / tile_width * tile_width; }

#if defined(__x86_64__)
// Whether functions with the attribute target("avx2") can run here.
inline bool has_wide_lanes() noexcept {
    static const bool answer = __builtin_cpu_supports("avx2") != 0;
    return answer;
}
#endif

}  // namespace cobre::noise
