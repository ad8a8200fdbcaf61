// Random permutations.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "noise/generator.hpp"

namespace cobre::noise {

// Fills `items` with 0 .. n - 1 in random order: Fisher-Yates from the last place down.
inline void shuffle(std::span<std::uint32_t> items, Generator& generator) noexcept {
    std::iota(items.begin(), items.end(), 0u);
    for (std::size_t i = items.size(); i-- > 1;) {
        std::swap(items[i], items[generator.below(static_cast<std::uint32_t>(i + 1))]);
    }
}

}  // namespace cobre::noise
