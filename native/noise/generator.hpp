// PCG64 (PCG XSL-RR 128/64) and the uniform numbers that are drawn from it.
#pragma once

#include <bit>
#include <cstdint>

namespace cobre::noise {

class Generator {
public:
    // Spreads the seed over state and increment with eight outputs of a PCG32, as Rust's `seed_from_u64` does.
    explicit Generator(std::uint64_t seed) noexcept {
        const auto word = [&seed] {
            const std::uint64_t low = spread(seed);
            return low | std::uint64_t{spread(seed)} << 32;
        };
        const auto wide_word = [&word] {
            const Wide low = word();
            return low | static_cast<Wide>(word()) << 64;
        };
        state_ = wide_word();
        increment_ = wide_word() | 1;
        state_ += increment_;
        step();
    }

    std::uint64_t next() noexcept {
        step();
        const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
        return std::rotr(folded, static_cast<int>(state_ >> 122));
    }

    std::uint32_t next_word() noexcept { return static_cast<std::uint32_t>(next()); }

    // k 2^-52, k whole: in [0, 1).
    double uniform52() noexcept { return static_cast<double>(next() >> 12) * 0x1p-52; }
    // k 2^-53, k whole: in [0, 1).
    double uniform53() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
    // (k + 1/2) 2^-52, k whole: in (0, 1).
    double open_uniform() noexcept { return static_cast<double>(next() >> 12) * 0x1p-52 + 0x1p-53; }

    // 0 .. n - 1, n > 0. The high word of a product, corrected once: the bias left is below 2^-32.
    std::uint32_t below(std::uint32_t n) noexcept {
        const std::uint64_t product = std::uint64_t{next_word()} * n;
        auto result = static_cast<std::uint32_t>(product >> 32);
        const auto low = static_cast<std::uint32_t>(product);
        if (low > 0u - n) {
            const auto carry = static_cast<std::uint32_t>(std::uint64_t{next_word()} * n >> 32);
            if (low + carry < low) ++result;
        }
        return result;
    }

private:
    __extension__ using Wide = unsigned __int128;

    static std::uint32_t spread(std::uint64_t& state) noexcept {
        state = state * 6364136223846793005u + 11634580027462260723u;
        return std::rotr(static_cast<std::uint32_t>(((state >> 18) ^ state) >> 27), static_cast<int>(state >> 59));
    }

    void step() noexcept {
        constexpr Wide multiplier = static_cast<Wide>(0x2360ED051FC65DA4) << 64 | 0x4385DF649FCCF645;
        state_ = state_ * multiplier + increment_;
    }

    Wide state_;
    Wide increment_;
};

}  // namespace cobre::noise
