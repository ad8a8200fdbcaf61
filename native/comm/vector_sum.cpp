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

template <bool around_cache>
__attribute__((target("avx2"))) void store(double* to, __m256d values) noexcept {
    if constexpr (around_cache) _mm256_stream_pd(to, values);
    else _mm256_storeu_pd(to, values);
}

template <bool around_cache>
__attribute__((target("avx2"))) void store(float* to, __m256 values) noexcept {
    if constexpr (around_cache) _mm256_stream_ps(to, values);
    else _mm256_storeu_ps(to, values);
}

// 128 bytes of columns in four registers. Tested for NaN before anything is written: the caller may need the
// operands again, and `out` may be one of them.
template <bool around_cache>
__attribute__((target("avx2"))) std::size_t sum_doubles_avx2(std::span<const std::byte* const> rows,
                                                             std::size_t first, std::size_t count,
                                                             std::byte* out) noexcept {
    std::size_t done = 0;
    for (; done + doubles_per_group <= count; done += doubles_per_group) {
        const std::size_t offset = (first + done) * sizeof(double);
        const auto* row = reinterpret_cast<const double*>(rows[0] + offset);
        __m256d a = _mm256_loadu_pd(row);
        __m256d b = _mm256_loadu_pd(row + 4);
        __m256d c = _mm256_loadu_pd(row + 8);
        __m256d d = _mm256_loadu_pd(row + 12);
        for (std::size_t r = 1; r < rows.size(); ++r) {
            row = reinterpret_cast<const double*>(rows[r] + offset);
            a = _mm256_add_pd(a, _mm256_loadu_pd(row));
            b = _mm256_add_pd(b, _mm256_loadu_pd(row + 4));
            c = _mm256_add_pd(c, _mm256_loadu_pd(row + 8));
            d = _mm256_add_pd(d, _mm256_loadu_pd(row + 12));
        }
        const __m256d nan = _mm256_or_pd(_mm256_cmp_pd(a, b, _CMP_UNORD_Q), _mm256_cmp_pd(c, d, _CMP_UNORD_Q));
        if (_mm256_movemask_pd(nan) != 0) break;
        auto* target = reinterpret_cast<double*>(out + offset);
        store<around_cache>(target, a);
        store<around_cache>(target + 4, b);
        store<around_cache>(target + 8, c);
        store<around_cache>(target + 12, d);
    }
    return done;
}

template <bool around_cache>
__attribute__((target("avx2"))) std::size_t sum_floats_avx2(std::span<const std::byte* const> rows,
                                                            std::size_t first, std::size_t count,
                                                            std::byte* out) noexcept {
    std::size_t done = 0;
    for (; done + floats_per_group <= count; done += floats_per_group) {
        const std::size_t offset = (first + done) * sizeof(float);
        const auto* row = reinterpret_cast<const float*>(rows[0] + offset);
        __m256 a = _mm256_loadu_ps(row);
        __m256 b = _mm256_loadu_ps(row + 8);
        __m256 c = _mm256_loadu_ps(row + 16);
        __m256 d = _mm256_loadu_ps(row + 24);
        for (std::size_t r = 1; r < rows.size(); ++r) {
            row = reinterpret_cast<const float*>(rows[r] + offset);
            a = _mm256_add_ps(a, _mm256_loadu_ps(row));
            b = _mm256_add_ps(b, _mm256_loadu_ps(row + 8));
            c = _mm256_add_ps(c, _mm256_loadu_ps(row + 16));
            d = _mm256_add_ps(d, _mm256_loadu_ps(row + 24));
        }
        const __m256 nan = _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q));
        if (_mm256_movemask_ps(nan) != 0) break;
        auto* target = reinterpret_cast<float*>(out + offset);
        store<around_cache>(target, a);
        store<around_cache>(target + 8, b);
        store<around_cache>(target + 16, c);
        store<around_cache>(target + 24, d);
    }
    return done;
}

}  // namespace

std::size_t sum_doubles(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
                        std::byte* out, bool around_cache) noexcept {
    if (!has_vector_sum()) return 0;
    return around_cache ? sum_doubles_avx2<true>(rows, first, count, out)
                        : sum_doubles_avx2<false>(rows, first, count, out);
}

std::size_t sum_floats(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
                       std::byte* out, bool around_cache) noexcept {
    if (!has_vector_sum()) return 0;
    return around_cache ? sum_floats_avx2<true>(rows, first, count, out)
                        : sum_floats_avx2<false>(rows, first, count, out);
}

void finish_streaming() noexcept { _mm_sfence(); }

#else

bool has_vector_sum() noexcept { return false; }
void finish_streaming() noexcept {}

std::size_t sum_doubles(std::span<const std::byte* const>, std::size_t, std::size_t, std::byte*, bool) noexcept {
    return 0;
}

std::size_t sum_floats(std::span<const std::byte* const>, std::size_t, std::size_t, std::byte*, bool) noexcept {
    return 0;
}

#endif

}  // namespace cobre::comm
