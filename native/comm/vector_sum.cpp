#include "comm/vector_sum.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cobre::comm {

#if defined(__x86_64__)

bool has_vector_sum() noexcept {
    static const bool answer = __builtin_cpu_supports("avx2") != 0;
    return answer;
}

namespace {

#define COBRE_AVX2 __attribute__((target("avx2")))

COBRE_AVX2 __m256d load(const double* from) noexcept { return _mm256_loadu_pd(from); }
COBRE_AVX2 __m256 load(const float* from) noexcept { return _mm256_loadu_ps(from); }

COBRE_AVX2 __m256d sum(__m256d a, __m256d b) noexcept { return _mm256_add_pd(a, b); }
COBRE_AVX2 __m256 sum(__m256 a, __m256 b) noexcept { return _mm256_add_ps(a, b); }

COBRE_AVX2 bool has_nan(__m256d a, __m256d b, __m256d c, __m256d d) noexcept {
    return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(a, b, _CMP_UNORD_Q), _mm256_cmp_pd(c, d, _CMP_UNORD_Q)));
}
COBRE_AVX2 bool has_nan(__m256 a, __m256 b, __m256 c, __m256 d) noexcept {
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q)));
}

template <bool around_cache>
COBRE_AVX2 void store(double* to, __m256d values) noexcept {
    if constexpr (around_cache) _mm256_stream_pd(to, values);
    else _mm256_storeu_pd(to, values);
}

template <bool around_cache>
COBRE_AVX2 void store(float* to, __m256 values) noexcept {
    if constexpr (around_cache) _mm256_stream_ps(to, values);
    else _mm256_storeu_ps(to, values);
}

// Four registers of columns. Tested for NaN before anything is written: the caller may need the operands again,
// and `out` may be one of them.
template <bool around_cache, class T>
COBRE_AVX2 std::size_t sum_groups(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
                                  std::byte* out) noexcept {
    constexpr std::size_t step = vector_bytes / sizeof(T);
    std::size_t done = 0;
    for (; done + columns_per_group<T> <= count; done += columns_per_group<T>) {
        const std::size_t offset = (first + done) * sizeof(T);
        const auto* row = reinterpret_cast<const T*>(rows[0] + offset);
        auto a = load(row);
        auto b = load(row + step);
        auto c = load(row + 2 * step);
        auto d = load(row + 3 * step);
        for (std::size_t r = 1; r < rows.size(); ++r) {
            row = reinterpret_cast<const T*>(rows[r] + offset);
            a = sum(a, load(row));
            b = sum(b, load(row + step));
            c = sum(c, load(row + 2 * step));
            d = sum(d, load(row + 3 * step));
        }
        if (has_nan(a, b, c, d)) break;
        auto* target = reinterpret_cast<T*>(out + offset);
        store<around_cache>(target, a);
        store<around_cache>(target + step, b);
        store<around_cache>(target + 2 * step, c);
        store<around_cache>(target + 3 * step, d);
    }
    return done;
}

}  // namespace

template <class T>
std::size_t sum_columns(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
                        std::byte* out, bool around_cache) noexcept {
    if (!has_vector_sum()) return 0;
    return around_cache ? sum_groups<true, T>(rows, first, count, out)
                        : sum_groups<false, T>(rows, first, count, out);
}

void finish_streaming() noexcept { _mm_sfence(); }

#else

bool has_vector_sum() noexcept { return false; }
void finish_streaming() noexcept {}

template <class T>
std::size_t sum_columns(std::span<const std::byte* const>, std::size_t, std::size_t, std::byte*, bool) noexcept {
    return 0;
}

#endif

template std::size_t sum_columns<float>(std::span<const std::byte* const>, std::size_t, std::size_t, std::byte*,
                                        bool) noexcept;
template std::size_t sum_columns<double>(std::span<const std::byte* const>, std::size_t, std::size_t, std::byte*,
                                         bool) noexcept;

}  // namespace cobre::comm
