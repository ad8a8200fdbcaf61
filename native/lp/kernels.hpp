// Loops over vectors with one fixed order of additions: the same bits for every width of vector registers.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

inline void add_multiple_of_any(double* a, double f, const double* b, std::size_t n) noexcept {
    if (has_wide_lanes()) add_multiple_wide(a, f, b, n);
    else add_multiple(a, f, b, n);
}

// Four partial sums, then (0 + 1) + (2 + 3); what is left over goes to the first.
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

#if defined(__x86_64__)
// A lane for each partial sum.
[[gnu::target("avx2")]] inline double dot_wide(const double* a, const double* b, std::size_t n) noexcept {
    __m256d sums = _mm256_setzero_pd();
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        sums = _mm256_add_pd(sums, _mm256_mul_pd(_mm256_loadu_pd(a + i), _mm256_loadu_pd(b + i)));
    alignas(32) double s[4];
    _mm256_store_pd(s, sums);
    for (; i < n; ++i) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}
#endif

inline double dot_of_any(const double* a, const double* b, std::size_t n) noexcept {
#if defined(__x86_64__)
    if (has_wide_lanes()) return dot_wide(a, b, n);
#endif
    return dot(a, b, n);
}

// The functions below write to `out`, ascending, the places in which a condition holds, and return how many there
// are. `out` has room for `kernel_room` more. Comparisons are the same for every width of registers.
inline constexpr std::size_t kernel_room = 4;

namespace kernels {

inline std::size_t outside_from(std::size_t i, std::size_t count, const double* x, const double* low,
                                const double* high, double tolerance, std::size_t n, std::int32_t* out) noexcept {
    for (; i < n; ++i) {
        out[count] = static_cast<std::int32_t>(i);
        count += static_cast<std::size_t>(low[i] - x[i] > tolerance || x[i] - high[i] > tolerance);
    }
    return count;
}

inline std::size_t filled_from(std::size_t i, std::size_t count, const double* a, std::size_t n,
                               std::int32_t* out) noexcept {
    for (; i < n; ++i) {
        out[count] = static_cast<std::int32_t>(i);
        count += static_cast<std::size_t>(a[i] != 0.0);
    }
    return count;
}

inline std::size_t above_from(std::size_t i, std::size_t count, double sign, const double* a, const double* b,
                              double limit, std::size_t n, std::int32_t* out) noexcept {
    for (; i < n; ++i) {
        out[count] = static_cast<std::int32_t>(i);
        count += static_cast<std::size_t>(sign * a[i] * b[i] > limit);
    }
    return count;
}

#if defined(__x86_64__)
// Of each set of four places: those in it, one after the other, and how many.
struct Lanes {
    alignas(16) std::int32_t place[16][4];
    std::uint8_t count[16];
};
inline constexpr Lanes lanes = [] {
    Lanes all{};
    for (unsigned set = 0; set < 16; ++set)
        for (std::int32_t lane = 0; lane < 4; ++lane)
            if ((set >> lane & 1U) != 0) all.place[set][all.count[set]++] = lane;
    return all;
}();

[[gnu::target("avx2")]] inline std::size_t keep_set(int set, std::size_t first, std::size_t count,
                                                    std::int32_t* out) noexcept {
    const __m128i place = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes.place[set]));
    const __m128i all = _mm_add_epi32(place, _mm_set1_epi32(static_cast<std::int32_t>(first)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + count), all);
    return count + lanes.count[set];
}

[[gnu::target("avx2")]] inline std::size_t outside_wide(const double* x, const double* low, const double* high,
                                                        double tolerance, std::size_t n,
                                                        std::int32_t* out) noexcept {
    const __m256d limit = _mm256_set1_pd(tolerance);
    std::size_t i = 0, count = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256d value = _mm256_loadu_pd(x + i);
        const __m256d below = _mm256_cmp_pd(_mm256_sub_pd(_mm256_loadu_pd(low + i), value), limit, _CMP_GT_OQ);
        const __m256d above = _mm256_cmp_pd(_mm256_sub_pd(value, _mm256_loadu_pd(high + i)), limit, _CMP_GT_OQ);
        const int set = _mm256_movemask_pd(_mm256_or_pd(below, above));
        if (set != 0) count = keep_set(set, i, count, out);
    }
    return outside_from(i, count, x, low, high, tolerance, n, out);
}

[[gnu::target("avx2")]] inline std::size_t filled_wide(const double* a, std::size_t n,
                                                       std::int32_t* out) noexcept {
    const __m256d zero = _mm256_setzero_pd();
    std::size_t i = 0, count = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256d filled = _mm256_cmp_pd(_mm256_loadu_pd(a + i), zero, _CMP_NEQ_UQ);
        count = keep_set(_mm256_movemask_pd(filled), i, count, out);
    }
    return filled_from(i, count, a, n, out);
}

[[gnu::target("avx2")]] inline std::size_t above_wide(double sign, const double* a, const double* b, double limit,
                                                      std::size_t n, std::int32_t* out) noexcept {
    const __m256d least = _mm256_set1_pd(limit), factor = _mm256_set1_pd(sign);
    std::size_t i = 0, count = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256d product =
            _mm256_mul_pd(_mm256_mul_pd(factor, _mm256_loadu_pd(a + i)), _mm256_loadu_pd(b + i));
        count = keep_set(_mm256_movemask_pd(_mm256_cmp_pd(product, least, _CMP_GT_OQ)), i, count, out);
    }
    return above_from(i, count, sign, a, b, limit, n, out);
}
#endif

// sums[i] = start[i] + sum_j factors[j] * columns[j][i], terms added one after the other, and the greatest of them
// that is above 0: the first of equals. A block of places stays in registers while the columns pass by. `sums` may
// be `start`.
struct Greatest {
    double value = 0.0;
    std::int32_t place = -1;

    void see(const double* sums, std::size_t first, std::size_t n) noexcept {
        for (std::size_t k = 0; k < n; ++k)
            if (sums[k] > value) {
                value = sums[k];
                place = static_cast<std::int32_t>(first + k);
            }
    }
};

inline void greatest_from(std::size_t first, Greatest& found, const double* start, const double* factors,
                          const double* const* columns, std::size_t n_columns, std::size_t n,
                          double* sums) noexcept {
    constexpr std::size_t block = 8;
    for (; first < n; first += block) {
        const std::size_t width = n - first < block ? n - first : block;
        double part[block];
        for (std::size_t k = 0; k < width; ++k) part[k] = start[first + k];
        for (std::size_t j = 0; j < n_columns; ++j)
            for (std::size_t k = 0; k < width; ++k) part[k] += factors[j] * columns[j][first + k];
        for (std::size_t k = 0; k < width; ++k) sums[first + k] = part[k];
        found.see(part, first, width);
    }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline void greatest_wide(Greatest& found, const double* start, const double* factors,
                                                  const double* const* columns, std::size_t n_columns,
                                                  std::size_t n, double* sums) noexcept {
    constexpr std::size_t registers = 8, block = 4 * registers;
    std::size_t first = 0;
    for (; first + block <= n; first += block) {
        __m256d part[registers];
        for (std::size_t r = 0; r < registers; ++r) part[r] = _mm256_loadu_pd(start + first + 4 * r);
        for (std::size_t j = 0; j < n_columns; ++j) {
            const __m256d factor = _mm256_set1_pd(factors[j]);
            const double* column = columns[j] + first;
            for (std::size_t r = 0; r < registers; ++r)
                part[r] = _mm256_add_pd(part[r], _mm256_mul_pd(factor, _mm256_loadu_pd(column + 4 * r)));
        }
        const __m256d least = _mm256_set1_pd(found.value);
        __m256d is_greater = _mm256_setzero_pd();
        for (std::size_t r = 0; r < registers; ++r) {
            _mm256_storeu_pd(sums + first + 4 * r, part[r]);
            is_greater = _mm256_or_pd(is_greater, _mm256_cmp_pd(part[r], least, _CMP_GT_OQ));
        }
        if (_mm256_movemask_pd(is_greater) != 0) found.see(sums + first, first, block);
    }
    greatest_from(first, found, start, factors, columns, n_columns, n, sums);
}
#endif

}  // namespace kernels

inline kernels::Greatest greatest_sum(const double* start, const double* factors, const double* const* columns,
                                      std::size_t n_columns, std::size_t n, double* sums) noexcept {
    kernels::Greatest found;
#if defined(__x86_64__)
    if (has_wide_lanes()) {
        kernels::greatest_wide(found, start, factors, columns, n_columns, n, sums);
        return found;
    }
#endif
    kernels::greatest_from(0, found, start, factors, columns, n_columns, n, sums);
    return found;
}

// x[i] is below low[i] or above high[i] by more than the tolerance.
inline std::size_t outside(const double* x, const double* low, const double* high, double tolerance, std::size_t n,
                           std::int32_t* out) noexcept {
#if defined(__x86_64__)
    if (has_wide_lanes()) return kernels::outside_wide(x, low, high, tolerance, n, out);
#endif
    return kernels::outside_from(0, 0, x, low, high, tolerance, n, out);
}

// a[i] is not 0.
inline std::size_t filled(const double* a, std::size_t n, std::int32_t* out) noexcept {
#if defined(__x86_64__)
    if (has_wide_lanes()) return kernels::filled_wide(a, n, out);
#endif
    return kernels::filled_from(0, 0, a, n, out);
}

// sign * a[i] * b[i] > limit
inline std::size_t products_above(double sign, const double* a, const double* b, double limit, std::size_t n,
                                  std::int32_t* out) noexcept {
#if defined(__x86_64__)
    if (has_wide_lanes()) return kernels::above_wide(sign, a, b, limit, n, out);
#endif
    return kernels::above_from(0, 0, sign, a, b, limit, n, out);
}

}  // namespace cobre::lp
