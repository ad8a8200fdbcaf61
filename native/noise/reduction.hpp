// A few members that stand for a large sample, by k-means.
#pragma once

#include <cstdint>
#include <span>

namespace cobre::noise {

// Chooses `members.size()` rows of the sample and the share of the sample that each stands for.
//
// k-means++ chooses the first centres with a generator seeded by `seed`; Lloyd's iteration then runs until no row
// changes its cluster. The member nearest the centre stands for a cluster. Ties go to the lower index. Members are
// in ascending order. There must be at least as many rows as members.
void reduce(std::uint64_t seed, std::span<const double> sample, std::size_t columns,
            std::span<std::uint32_t> members, std::span<double> shares);

}  // namespace cobre::noise
