#include "noise/halton.hpp"

#include <span>

#include "noise/normal.hpp"
#include "noise/shuffle.hpp"

namespace cobre::noise {

std::vector<std::uint32_t> first_primes(std::size_t count) {
    std::vector<std::uint32_t> primes;
    primes.reserve(count);
    for (std::uint32_t candidate = 2; primes.size() < count; ++candidate) {
        bool is_prime = true;
        for (const std::uint32_t p : primes) {
            if (std::uint64_t{p} * p > candidate) break;
            if (candidate % p == 0) {
                is_prime = false;
                break;
            }
        }
        if (is_prime) primes.push_back(candidate);
    }
    return primes;
}

void sample_halton(Generator& generator, std::uint32_t points, std::uint32_t first, const Block& block) {
    const std::vector<std::uint32_t> primes = first_primes(block.columns);
    std::vector<std::uint32_t> tables;
    for (std::size_t d = 0; d < block.columns; ++d) {
        const std::uint32_t base = primes[d];
        std::size_t digits = 1;
        std::uint64_t cells = base;
        for (; cells < points; cells *= base) ++digits;
        tables.resize(digits * base);
        for (std::size_t j = 0; j < digits; ++j) shuffle(std::span(tables).subspan(j * base, base), generator);
        for (std::size_t row = 0; row < block.rows; ++row) {
            std::uint32_t rest = first + static_cast<std::uint32_t>(row);
            std::uint64_t cell = 0;
            for (std::size_t j = 0; j < digits; ++j, rest /= base) {
                cell = cell * base + tables[j * base + rest % base];
            }
            block.row(row)[d] = normal_of_uniform((static_cast<double>(cell) + 0.5) / static_cast<double>(cells));
        }
    }
}

}  // namespace cobre::noise
