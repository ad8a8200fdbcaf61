// Loops over vectors with one fixed order of additions: the same bits for every width of vector registers.
#pragma once

#include <cstddef>

namespace cobre::lp {

// a[i] += f * b[i]: a product and a sum, each rounded; never fused.
inline void add_multiple(double* a, double f, const double* b, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) a[i] += f * b[i];
}

// The same with wider registers where they are: the same operations, and so the same bits.
#if defined(__x86_64__)
inline bool has_wide_lanes() noexcept {
    static const bool answer = __builtin_cpu_supports("avx2") != 0;
    return answer;
}
[[gnu::target("avx2")]] inline void add_multiple_wide(double* a, double f, const double* b,
                                                      std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) a[i] += f * b[i];
}
#else
inline bool has_wide_lanes() noexcept { return false; }
inline void add_multiple_wide(double* a, double f, const double* b, std::size_t n) noexcept {
    add_multiple(a, f, b, n);
}
#endif

// Four partial sums, then (0 + 1) + (2 + 3).
inline double dot(const double* a, const double* b, std::size_t n) noexcept {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; ++i) s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

}  // namespace cobre::lp
