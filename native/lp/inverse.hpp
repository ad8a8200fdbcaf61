// The inverse of a square matrix, kept while columns are exchanged and rows come and go.
//
// Numbers are stored densely. Beside them, one bit per place says where a number may be that is not 0, by row and
// by column: most places of the inverse of a stage are empty, and products need not look at them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cobre::lp {

// In scaled units, in which coefficients are around 1: what rounding leaves where terms cancel each other. Kept,
// it would fill the inverse and make every product longer.
inline constexpr double rounding = 1e-14;

class Inverse {
public:
    std::size_t size() const noexcept { return size_; }
    double* row(std::size_t p) noexcept { return values_.data() + p * stride_; }
    const double* row(std::size_t p) const noexcept { return values_.data() + p * stride_; }

    // Calls use(t, number) for each place of row p that may not be 0, ascending.
    template <class Use>
    void for_each_in_row(std::size_t p, Use&& use) const {
        const double* own = row(p);
        each_bit(row_bits(p), [&](std::size_t t) { use(t, own[t]); });
    }
    // Calls use(p, number) for each place of column t that may not be 0, ascending.
    template <class Use>
    void for_each_in_column(std::size_t t, Use&& use) const {
        each_bit(column_bits(t), [&](std::size_t p) { use(p, values_[p * stride_ + t]); });
    }
    double dot_row(std::size_t p, const double* vector) const noexcept;
    double norm_of_row(std::size_t p) const noexcept;
    // out[t] += factor * row(p)[t]
    void add_row(std::size_t p, double factor, double* out) const noexcept;

    // Becomes -1 on the diagonal: the columns of the logical variables of `size` rows.
    void reset(std::size_t size);
    // Takes the numbers of another one, without those beyond its size.
    void copy(const Inverse& other);
    // A row of the matrix arrives with its logical variable (-1) basic in the last position; `weights` is that
    // row's part in the other basic columns times the inverse.
    void append(std::span<const double> weights);
    // The column in position p is exchanged; `column` is the inverse times the new one, column[p] not 0.
    void exchange(std::size_t p, std::span<const double> column);
    // Positions in which the column that was exchanged last is more than rounding, ascending.
    std::span<const std::int32_t> exchanged_rows() const noexcept { return exchanged_; }
    // Position p, in which the logical variable of row t is basic, leaves with that row; the last ones take their
    // places.
    void remove(std::size_t p, std::size_t t) noexcept;
    // Gives the memory to the next inverse of this thread; `reset` begins again.
    void release() noexcept;

private:
    using Word = std::uint64_t;
    static constexpr std::size_t word_bits = 64;

    const Word* row_bits(std::size_t p) const noexcept { return row_bits_.data() + p * words_; }
    const Word* column_bits(std::size_t t) const noexcept { return column_bits_.data() + t * words_; }
    Word* row_bits(std::size_t p) noexcept { return row_bits_.data() + p * words_; }
    Word* column_bits(std::size_t t) noexcept { return column_bits_.data() + t * words_; }
    void widen(std::size_t stride);
    std::size_t used_words() const noexcept { return (size_ + word_bits - 1) / word_bits; }
    bool is_full(std::size_t p) const noexcept;

    template <class Use>
    void each_bit(const Word* bits, Use&& use) const {
        for (std::size_t w = 0; w < used_words(); ++w)
            for (Word left = bits[w]; left != 0; left &= left - 1)
                use(w * word_bits + static_cast<std::size_t>(std::countr_zero(left)));
    }

    std::size_t size_ = 0;
    std::size_t stride_ = 0;
    std::size_t words_ = 0;  // of each set of bits
    std::vector<double> values_;
    std::vector<Word> row_bits_, column_bits_;
    std::vector<Word> changed_;
    std::vector<std::int32_t> filled_, exchanged_;
};

}  // namespace cobre::lp
