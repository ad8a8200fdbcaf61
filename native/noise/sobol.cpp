#include "noise/sobol.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "noise/normal.hpp"

namespace cobre::noise {

namespace {

class BitReader {
public:
    explicit BitReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::uint32_t take(std::size_t count) noexcept {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < count; ++i, ++at_) {
            if (at_ / 8 >= bytes_.size()) {
                is_past_end_ = true;
                return 0;
            }
            value |= (std::to_integer<std::uint32_t>(bytes_[at_ / 8]) >> (at_ % 8) & 1u) << i;
        }
        return value;
    }
    bool is_past_end() const noexcept { return is_past_end_; }

private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool is_past_end_ = false;
};

// v_j = m_j 2^(32-j) up to the degree s; from there on v_{j-s} ^ (v_{j-s} >> s) ^ the v_{j-k} of the coefficients.
bool read_dimension(BitReader& reader, std::span<std::uint32_t> v) noexcept {
    const std::size_t s = reader.take(5);
    if (s == 0 || s > v.size()) return false;
    const std::uint32_t a = reader.take(s - 1);
    for (std::size_t j = 0; j < s; ++j) v[j] = (2 * reader.take(j) + 1) << (sobol_bits - 1 - j);
    for (std::size_t j = s; j < v.size(); ++j) {
        v[j] = v[j - s] ^ (v[j - s] >> s);
        for (std::size_t k = 1; k < s; ++k) {
            if ((a >> (s - 1 - k) & 1u) != 0) v[j] ^= v[j - k];
        }
    }
    return !reader.is_past_end();
}

// Row r of L has a 1 at bit r, counted from the most significant one, and random bits before it.
void multiply_by_matrix(Generator& generator, std::span<std::uint32_t> v) noexcept {
    std::array<std::uint32_t, sobol_bits> rows{};
    for (std::size_t r = 0; r < sobol_bits; ++r) {
        const std::uint32_t bit = 0x80000000u >> r;
        rows[r] = (generator.next_word() & ~(2 * bit - 1)) | bit;
    }
    for (std::uint32_t& number : v) {
        std::uint32_t product = 0;
        for (std::size_t r = 0; r < sobol_bits; ++r) {
            product |= static_cast<std::uint32_t>(std::popcount(rows[r] & number) & 1) << (sobol_bits - 1 - r);
        }
        number = product;
    }
}

// The scrambled sequence over all columns at once; direction numbers lie bit after bit.
class Sequence {
public:
    Sequence(Generator& generator, std::span<const std::uint32_t> directions, Scramble scramble,
             std::size_t columns)
        : scramble_(scramble),
          columns_(columns),
          numbers_(sobol_bits * columns),
          factors_(columns, 1),
          shifts_(columns),
          x_(columns, 0) {
        std::array<std::uint32_t, sobol_bits> v{};
        for (std::size_t d = 0; d < columns; ++d) {
            std::copy_n(&directions[d * sobol_bits], sobol_bits, v.begin());
            if (scramble == Scramble::multiply) factors_[d] = generator.next_word() | 1u;
            else multiply_by_matrix(generator, v);
            shifts_[d] = generator.next_word();
            for (std::size_t j = 0; j < sobol_bits; ++j) numbers_[j * columns + d] = v[j];
        }
    }

    // Adds direction number j to every dimension.
    void flip(int j) noexcept {
        const std::uint32_t* const v = &numbers_[static_cast<std::size_t>(j) * columns_];
        for (std::size_t d = 0; d < columns_; ++d) x_[d] ^= v[d];
    }

    void write(double* out) const noexcept {
        if (scramble_ == Scramble::multiply) {
            for (std::size_t d = 0; d < columns_; ++d) {
                out[d] = normal_of_uniform(static_cast<double>(factors_[d] * x_[d] + shifts_[d]) * 0x1p-32);
            }
        } else {  // the middle of the cell, so that no point lies at 0
            for (std::size_t d = 0; d < columns_; ++d) {
                out[d] = normal_of_uniform((static_cast<double>(x_[d] ^ shifts_[d]) + 0.5) * 0x1p-32);
            }
        }
    }

private:
    Scramble scramble_;
    std::size_t columns_;
    std::vector<std::uint32_t> numbers_;
    std::vector<std::uint32_t> factors_;
    std::vector<std::uint32_t> shifts_;
    std::vector<std::uint32_t> x_;
};

}  // namespace

std::vector<std::uint32_t> sobol_directions(std::span<const std::byte> table, std::size_t dimensions) {
    std::vector<std::uint32_t> directions(dimensions * sobol_bits);
    const std::span<std::uint32_t> all(directions);
    BitReader reader(table);
    for (std::size_t d = 0; d < dimensions; ++d) {
        const std::span<std::uint32_t> v = all.subspan(d * sobol_bits, sobol_bits);
        if (d == 0) {
            for (std::size_t j = 0; j < sobol_bits; ++j) v[j] = 0x80000000u >> j;
        } else if (!read_dimension(reader, v)) {
            return {};
        }
    }
    return directions;
}

void sample_sobol(Generator& generator, std::span<const std::uint32_t> directions, Scramble scramble,
                  PointOrder order, std::uint32_t first, const Block& block) {
    if (block.columns == 0) return;
    Sequence sequence(generator, directions, scramble, block.columns);
    const auto number = [order](std::uint32_t i) { return order == PointOrder::gray ? i ^ (i >> 1) : i; };
    std::uint32_t reached = 0;
    for (std::size_t row = 0; row < block.rows; ++row) {
        const std::uint32_t wanted = number(first + static_cast<std::uint32_t>(row));
        for (std::uint32_t bits = wanted ^ reached; bits != 0; bits &= bits - 1) {
            sequence.flip(std::countr_zero(bits));
        }
        reached = wanted;
        sequence.write(block.row(row));
    }
}

}  // namespace cobre::noise
