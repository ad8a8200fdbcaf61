#include "lp/inverse.hpp"

#include <algorithm>
#include <cmath>

#include "lp/kernels.hpp"

namespace cobre::lp {

namespace {

// A row with fewer numbers than this part of it is taken by its bits, others from end to end.
constexpr std::size_t sparse_share = 4;

// Memory that an inverse of this thread has given back: a rank has many stages and works on one at a time.
thread_local std::vector<double> spare;

void set(std::uint64_t* bits, std::size_t place) noexcept { bits[place / 64] |= std::uint64_t{1} << place % 64; }
void clear(std::uint64_t* bits, std::size_t place) noexcept {
    bits[place / 64] &= ~(std::uint64_t{1} << place % 64);
}
bool has(const std::uint64_t* bits, std::size_t place) noexcept {
    return (bits[place / 64] >> place % 64 & 1) != 0;
}

// Without a call: the oldest processors of this kind have no instruction for it.
std::size_t bits_of(std::uint64_t word) noexcept {
    word -= word >> 1 & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + (word >> 2 & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return word * 0x0101010101010101U >> 56;
}

}  // namespace

bool Inverse::is_full(std::size_t p) const noexcept {
    std::size_t numbers = 0;
    for (std::size_t w = 0; w < used_words(); ++w) numbers += bits_of(row_bits(p)[w]);
    return numbers * sparse_share >= size_;
}

double Inverse::dot_row(std::size_t p, const double* vector) const noexcept {
    if (is_full(p)) return dot_of_any(row(p), vector, size_);
    double sum = 0.0;
    for_each_in_row(p, [&](std::size_t t, double number) { sum += number * vector[t]; });
    return sum;
}

double Inverse::norm_of_row(std::size_t p) const noexcept { return dot_row(p, row(p)); }

void Inverse::add_row(std::size_t p, double factor, double* out) const noexcept {
    if (is_full(p)) add_multiple_of_any(out, factor, row(p), size_);
    else for_each_in_row(p, [&](std::size_t t, double number) { out[t] += factor * number; });
}

void Inverse::reset(std::size_t size) {
    if (values_.empty()) values_.swap(spare);
    if (size + 1 > stride_) stride_ = (size + size / 2 + 8) / 4 * 4 + 4;
    if (values_.size() < stride_ * stride_) values_.assign(stride_ * stride_, 0.0);
    words_ = stride_ / word_bits + 1;
    row_bits_.assign(stride_ * words_, 0);
    column_bits_.assign(stride_ * words_, 0);
    size_ = size;
    for (std::size_t p = 0; p < size; ++p) {
        std::fill_n(row(p), size, 0.0);
        row(p)[p] = -1.0;
        set(row_bits(p), p);
        set(column_bits(p), p);
    }
}

void Inverse::copy(const Inverse& other) {
    reset(other.size_);
    for (std::size_t p = 0; p < size_; ++p) {
        std::copy_n(other.row(p), size_, row(p));
        std::copy_n(other.row_bits(p), used_words(), row_bits(p));
        std::copy_n(other.column_bits(p), used_words(), column_bits(p));
    }
}

void Inverse::release() noexcept {
    if (values_.size() > spare.size()) spare.swap(values_);
    std::vector<double>().swap(values_);
    size_ = 0;
}

void Inverse::widen(std::size_t stride) {
    const std::size_t words = stride / word_bits + 1;
    std::vector<double> values(stride * stride, 0.0);
    std::vector<Word> row_bits_of(stride * words, 0), column_bits_of(stride * words, 0);
    for (std::size_t p = 0; p < size_; ++p) {
        std::copy_n(row(p), size_, values.data() + p * stride);
        std::copy_n(row_bits(p), words_, row_bits_of.data() + p * words);
        std::copy_n(column_bits(p), words_, column_bits_of.data() + p * words);
    }
    values_.swap(values);
    row_bits_.swap(row_bits_of);
    column_bits_.swap(column_bits_of);
    stride_ = stride;
    words_ = words;
}

void Inverse::append(std::span<const double> weights) {
    if (size_ + 1 >= stride_) widen(2 * stride_ + 8);
    const std::size_t last = size_;
    std::fill_n(row_bits(last), words_, 0);
    std::fill_n(column_bits(last), words_, 0);
    for (std::size_t p = 0; p < last; ++p) row(p)[last] = 0.0;
    for (std::size_t t = 0; t < last; ++t) {
        row(last)[t] = weights[t];
        if (weights[t] == 0.0) continue;
        set(row_bits(last), t);
        set(column_bits(t), last);
    }
    row(last)[last] = -1.0;
    set(row_bits(last), last);
    set(column_bits(last), last);
    ++size_;
}

void Inverse::exchange(std::size_t p, std::span<const double> column) {
    double* own = row(p);
    const double factor = 1.0 / column[p];
    filled_.clear();
    for_each_in_row(p, [&](std::size_t t, double number) {
        own[t] = number * factor;
        if (std::abs(own[t]) >= rounding) {
            filled_.push_back(static_cast<std::int32_t>(t));
        } else {
            own[t] = 0.0;
            clear(row_bits(p), t);
            clear(column_bits(t), p);
        }
    });
    exchanged_.resize(size_ + kernel_room);
    exchanged_.resize(
        products_above(1.0, column.data(), column.data(), rounding * rounding, size_, exchanged_.data()));
    changed_.assign(words_, 0);
    const std::size_t n = size_, words = used_words();
    const bool is_sparse = filled_.size() * sparse_share < n;
    const Word* own_bits = row_bits(p);
    for (const std::int32_t each : exchanged_) {
        const auto i = static_cast<std::size_t>(each);
        if (i == p) continue;
        set(changed_.data(), i);
        double* other = row(i);
        const double less = -column[i];
        if (is_sparse)
            for (const std::int32_t t : filled_) other[t] += less * own[t];
        else add_multiple_of_any(other, less, own, n);
        Word* bits = row_bits(i);
        for (std::size_t w = 0; w < words; ++w) bits[w] |= own_bits[w];
    }
    for (const std::int32_t t : filled_) {
        Word* bits = column_bits(static_cast<std::size_t>(t));
        for (std::size_t w = 0; w < words; ++w) bits[w] |= changed_[w];
    }
}

void Inverse::remove(std::size_t p, std::size_t t) noexcept {
    const std::size_t last = size_ - 1;
    if (p != last) {
        for_each_in_row(p, [&](std::size_t i, double) { clear(column_bits(i), p); });
        for_each_in_row(last, [&](std::size_t i, double) {
            clear(column_bits(i), last);
            set(column_bits(i), p);
        });
        std::copy_n(row(last), size_, row(p));
        std::copy_n(row_bits(last), words_, row_bits(p));
    } else {
        for_each_in_row(p, [&](std::size_t i, double) { clear(column_bits(i), p); });
    }
    for (std::size_t i = 0; i < last; ++i) {
        if (t != last) {
            row(i)[t] = row(i)[last];
            if (has(row_bits(i), last)) set(row_bits(i), t);
            else clear(row_bits(i), t);
        }
        clear(row_bits(i), last);
    }
    if (t != last) std::copy_n(column_bits(last), words_, column_bits(t));
    size_ = last;
}

}  // namespace cobre::lp
