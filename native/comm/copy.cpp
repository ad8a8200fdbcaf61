#include "comm/copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cobre::comm {

namespace {

constexpr std::size_t small = 2048;  // memcpy's own vector code; "rep movsb" starts above

#if defined(__x86_64__)

std::size_t distance_to_line(const std::byte* address) noexcept {
    return (64 - (reinterpret_cast<std::uintptr_t>(address) & 63)) & 63;
}

bool has_avx2() noexcept {
    static const bool answer = __builtin_cpu_supports("avx2") != 0;
    return answer;
}

template <bool around_cache>
__attribute__((target("avx2"))) void store(__m256i* to, __m256i values) noexcept {
    if constexpr (around_cache) _mm256_stream_si256(to, values);
    else _mm256_store_si256(to, values);
}

// Copies whole lines to an aligned target; returns how many bytes that were.
template <bool around_cache>
__attribute__((target("avx2"))) std::size_t copy_lines(std::byte* to, const std::byte* from,
                                                       std::size_t bytes) noexcept {
    std::size_t done = 0;
    for (; done + 128 <= bytes; done += 128) {
        const auto* source = reinterpret_cast<const __m256i*>(from + done);
        auto* target = reinterpret_cast<__m256i*>(to + done);
        const __m256i a = _mm256_loadu_si256(source);
        const __m256i b = _mm256_loadu_si256(source + 1);
        const __m256i c = _mm256_loadu_si256(source + 2);
        const __m256i d = _mm256_loadu_si256(source + 3);
        store<around_cache>(target, a);
        store<around_cache>(target + 1, b);
        store<around_cache>(target + 2, c);
        store<around_cache>(target + 3, d);
    }
    return done;
}

// Processors without AVX2 are older than the slow "rep movsb" that this file is about.
template <bool around_cache>
void copy_vectors(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t head = has_avx2() ? distance_to_line(to) : 0;
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    const std::size_t done = has_avx2() ? copy_lines<around_cache>(to, from, bytes) : 0;
    if constexpr (around_cache) _mm_sfence();  // streaming stores are ordered by nothing else
    std::memcpy(to + done, from + done, bytes - done);
}

// Both targets may be unaligned: one of them often has to be.
__attribute__((target("avx2"))) std::size_t copy_twice_avx2(std::byte* to, std::byte* also_to,
                                                            const std::byte* from, std::size_t bytes) noexcept {
    std::size_t done = 0;
    for (; done + 64 <= bytes; done += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done + 32));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + done), a);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + done + 32), b);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(also_to + done), a);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(also_to + done + 32), b);
    }
    return done;
}

std::size_t copy_twice(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) noexcept {
    return has_avx2() ? copy_twice_avx2(to, also_to, from, bytes) : 0;
}

#else

std::size_t copy_twice(std::byte*, std::byte*, const std::byte*, std::size_t) noexcept { return 0; }

template <bool>
void copy_vectors(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}

#endif

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, bool around_cache) noexcept {
    if (bytes == 0 || to == from) return;
    if (bytes <= small) std::memcpy(to, from, bytes);
    else if (around_cache) copy_vectors<true>(to, from, bytes);
    else copy_vectors<false>(to, from, bytes);
}

void copy_to_both(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t done = copy_twice(to, also_to, from, bytes);
    copy_bytes(to + done, from + done, bytes - done);
    copy_bytes(also_to + done, from + done, bytes - done);
}

}  // namespace cobre::comm
