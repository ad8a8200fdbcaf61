#include "comm/fold.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "comm/copy.hpp"
#include "comm/vector_sum.hpp"

namespace cobre::comm {

namespace {

// IEEE binary16 as its bits. Arithmetic goes through float, which is exact enough that rounding its
// result once more to binary16 gives the correctly rounded sum (24 >= 2 * 11 + 2 significant bits).
struct Half {
    std::uint16_t bits;
};

float to_float(Half half) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    const std::uint32_t exponent = (half.bits >> 10) & 0x1FU;
    const std::uint32_t fraction = half.bits & 0x3FFU;
    if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (fraction << 13));
    const float subnormal = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -subnormal : subnormal;
}

// Round to nearest, ties to even. Never called with a NaN.
Half to_half(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | 0x7C00U)};  // 65520 and up
    if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 aligns the last kept bit with float's last
        const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
        return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3F000000U))};
    }
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13))};
}

template <class T>
bool is_nan(T value) noexcept {
    if constexpr (std::is_same_v<T, Half>) return (value.bits & 0x7FFFU) > 0x7C00U;
    else if constexpr (std::is_floating_point_v<T>) return value != value;
    else return false;
}

Half quiet(Half nan) noexcept { return {static_cast<std::uint16_t>(nan.bits | 0x200U)}; }
float quiet(float nan) noexcept { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | (1U << 22)); }
double quiet(double nan) noexcept {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | (1ULL << 51));
}

template <class T>
T plain_sum(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else if constexpr (std::is_same_v<T, Half>) {
        const float sum = to_float(a) + to_float(b);
        if (sum == sum) return to_half(sum);
        return {static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(sum) >> 16 & 0x8000U) | 0x7E00U)};
    } else if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // signed overflow is undefined, unsigned wraps
        return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else return a + b;
}

template <class T>
bool is_less(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, Half>) return to_float(a) < to_float(b);
    else return a < b;
}

template <class T>
constexpr bool has_nan = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

// Which NaN an addition keeps depends on operand order, which compilers are free to swap. So a block
// that produced a NaN is done again by the rule above, one element at a time.
template <class T>
void settle_nans(T* acc, const T* before, const T* next, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        if (is_nan(before[i])) acc[i] = quiet(before[i]);
        else if (is_nan(next[i])) acc[i] = quiet(next[i]);
    }
}

constexpr std::size_t block_bytes = 4096;

template <class T>
using Block = std::array<T, block_bytes / sizeof(T)>;

template <class T>
void add(T* acc, const T* next, std::size_t count) noexcept {
    if constexpr (!has_nan<T>) {
        for (std::size_t i = 0; i < count; ++i) acc[i] = plain_sum(acc[i], next[i]);
    } else {
        Block<T> before;
        std::copy_n(acc, count, before.data());
        bool any_nan = false;
        for (std::size_t i = 0; i < count; ++i) {
            acc[i] = plain_sum(before[i], next[i]);
            any_nan |= is_nan(acc[i]);
        }
        if (any_nan) settle_nans(acc, before.data(), next, count);
    }
}

template <class T, bool smaller>
void keep_extreme(T* acc, const T* next, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const bool beats = smaller ? is_less(next[i], acc[i]) : is_less(acc[i], next[i]);
        const bool take = beats || (is_nan(next[i]) && !is_nan(acc[i]));
        acc[i] = take ? next[i] : acc[i];
    }
}

template <class T>
void load(Block<T>& block, const std::byte* row, std::size_t first, std::size_t count) noexcept {
    const std::byte* source = row + first * sizeof(T);
    if constexpr (std::is_same_v<T, bool>) {  // a byte that is neither 0 nor 1 is true, not undefined
        for (std::size_t i = 0; i < count; ++i) block[i] = source[i] != std::byte{0};
    } else {
        std::memcpy(block.data(), source, count * sizeof(T));
    }
}

// One block: the accumulator stays in the first-level cache, memcpy makes unaligned rows legal, and `out` is
// written only after every row's part was read, so it may be one of them.
template <class T>
void fold_block(std::span<const std::byte* const> rows, std::size_t first, std::size_t count, ReduceOp op,
                std::byte* out, bool around_cache = false) noexcept {
    Block<T> acc;
    Block<T> next;
    load(acc, rows[0], first, count);
    for (std::size_t r = 1; r < rows.size(); ++r) {
        load(next, rows[r], first, count);
        switch (op) {
            case ReduceOp::sum: add(acc.data(), next.data(), count); break;
            case ReduceOp::min: keep_extreme<T, true>(acc.data(), next.data(), count); break;
            case ReduceOp::max: keep_extreme<T, false>(acc.data(), next.data(), count); break;
        }
    }
    const auto* result = reinterpret_cast<const std::byte*>(acc.data());
    if (around_cache) copy_bytes(out + first * sizeof(T), result, count * sizeof(T), true);
    else std::memcpy(out + first * sizeof(T), result, count * sizeof(T));
}

template <class T>
void fold_as(std::span<const std::byte* const> rows, std::size_t count, ReduceOp op, std::byte* out,
             bool around_cache) noexcept {
    for (std::size_t first = 0; first < count;) {
        const std::size_t part = std::min(Block<T>{}.size(), count - first);
        fold_block<T>(rows, first, part, op, out, around_cache);
        first += part;
    }
}

// As the one of these types that has the size of an item; as the last one where none has.
template <class First, class... Larger>
void fold_integers(std::span<const std::byte* const> rows, std::size_t count, std::size_t item, ReduceOp op,
                   std::byte* out, bool around_cache) noexcept {
    if constexpr (sizeof...(Larger) != 0)
        if (item != sizeof(First)) return fold_integers<Larger...>(rows, count, item, op, out, around_cache);
    fold_as<First>(rows, count, op, out, around_cache);
}

// Columns until `out` begins a vector; `count` if it never does, because its elements are not aligned.
template <class T>
std::size_t columns_before_vector(const std::byte* out, std::size_t count) noexcept {
    const std::size_t bytes = -reinterpret_cast<std::uintptr_t>(out) % vector_bytes;
    return bytes % sizeof(T) == 0 ? std::min(count, bytes / sizeof(T)) : count;
}

// A few columns at once, without the traffic of a block; false, and nothing written, where a NaN comes out.
template <class T, std::size_t most>
bool sum_few(std::span<const std::byte* const> rows, std::size_t count, std::byte* out) noexcept {
    std::array<T, most> acc;
    const auto item = [](const std::byte* row, std::size_t i) {
        T value;
        std::memcpy(&value, row + i * sizeof(T), sizeof(T));
        return value;
    };
    for (std::size_t i = 0; i < count; ++i) acc[i] = item(rows[0], i);
    for (std::size_t r = 1; r < rows.size(); ++r)
        for (std::size_t i = 0; i < count; ++i) acc[i] += item(rows[r], i);
    for (std::size_t i = 0; i < count; ++i)
        if (is_nan(acc[i])) return false;
    std::memcpy(out, acc.data(), count * sizeof(T));
    return true;
}

// Sums go through the vector unit, but for the groups of columns in which it finds a NaN and for the last few.
template <class T>
void fold_floats(std::span<const std::byte* const> rows, std::size_t count, ReduceOp op, std::byte* out,
                 bool around_cache) noexcept {
    constexpr std::size_t group = columns_per_group<T>;
    if (op != ReduceOp::sum) return fold_as<T>(rows, count, op, out, around_cache);
    if (count < group && sum_few<T, group>(rows, count, out)) return;
    if (count < group || !has_vector_sum()) return fold_as<T>(rows, count, op, out, around_cache);
    const std::size_t head = around_cache ? columns_before_vector<T>(out, count) : 0;
    if (head == count) return fold_as<T>(rows, count, op, out, around_cache);
    if (head != 0) fold_block<T>(rows, 0, head, op, out);
    for (std::size_t first = head; first < count;) {
        first += sum_columns<T>(rows, first, count - first, out, around_cache);
        const std::size_t part = std::min(group, count - first);
        fold_block<T>(rows, first, part, op, out);
        first += part;
    }
    if (around_cache) finish_streaming();
}

}  // namespace

void fold_in_rank_order(std::span<const std::byte* const> rows, std::size_t count, const DType& dtype, ReduceOp op,
                        std::byte* out, bool around_cache) noexcept {
    if (rows.empty() || count == 0) return;
    if (rows.size() == 1) {  // one rank: an identity copy, no byte reinterpreted
        if (out != rows[0]) std::memcpy(out, rows[0], count * dtype.itemsize);
        return;
    }
    switch (dtype.kind) {
        case Kind::boolean: return fold_as<bool>(rows, count, op, out, around_cache);
        case Kind::signed_int:
            return fold_integers<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(
                rows, count, dtype.itemsize, op, out, around_cache);
        case Kind::unsigned_int:
            return fold_integers<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
                rows, count, dtype.itemsize, op, out, around_cache);
        case Kind::floating:
            switch (dtype.itemsize) {
                case 2: return fold_as<Half>(rows, count, op, out, around_cache);
                case 4: return fold_floats<float>(rows, count, op, out, around_cache);
                default: return fold_floats<double>(rows, count, op, out, around_cache);
            }
        case Kind::complex:  // SUM only, and that is componentwise
            if (dtype.itemsize == 8) return fold_floats<float>(rows, 2 * count, op, out, around_cache);
            return fold_floats<double>(rows, 2 * count, op, out, around_cache);
        case Kind::record: return;
    }
}

}  // namespace cobre::comm
