#include "noise/reduction.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "noise/generator.hpp"
#include "noise/lanes.hpp"

namespace cobre::noise {

namespace {

// distances[i] = sum over d = 0, 1, 2, ... of (row[d] - tile[d][i])^2, tile by tile.
[[gnu::always_inline]] inline void measure(const double* tiles, const double* row, std::size_t columns,
                                           std::size_t width, double* distances) noexcept {
    for (std::size_t i = 0; i < width; i += tile_width) {
        Lanes a{}, b{}, left, right;
        const double* tile = tiles + i * columns;
        for (std::size_t d = 0; d < columns; ++d, tile += tile_width) {
            load(tile, left);
            load(tile + lane_count, right);
            left = row[d] - left;
            right = row[d] - right;
            a += left * left;
            b += right * right;
        }
        store(distances + i, a);
        store(distances + i + lane_count, b);
    }
}

using Measure = void (*)(const double*, const double*, std::size_t, std::size_t, double*) noexcept;

void measure_plain(const double* tiles, const double* row, std::size_t columns, std::size_t width,
                   double* distances) noexcept {
    measure(tiles, row, columns, width, distances);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void measure_wide(const double* tiles, const double* row, std::size_t columns,
                                          std::size_t width, double* distances) noexcept {
    measure(tiles, row, columns, width, distances);
}
Measure best_measure() noexcept { return has_wide_lanes() ? measure_wide : measure_plain; }
#else
Measure best_measure() noexcept { return measure_plain; }
#endif

class Clusters {
public:
    Clusters(std::span<const double> sample, std::size_t columns, std::size_t count)
        : sample_(sample),
          columns_(columns),
          rows_(columns == 0 ? 0 : sample.size() / columns),
          count_(count),
          width_(padded(count)),
          tiles_(width_ * columns, 0.0),
          distances_(width_),
          owner_(rows_, static_cast<std::uint32_t>(count)),
          nearest_(rows_, std::numeric_limits<double>::infinity()),
          sizes_(count, 0),
          measure_(best_measure()) {}

    // k-means++: each centre is a row, chosen with probability proportional to its squared distance to the nearest
    // centre so far.
    void choose(Generator& generator) {
        std::uint32_t chosen = generator.below(static_cast<std::uint32_t>(rows_));
        for (std::size_t c = 0; c < count_; ++c) {
            place(c, row(chosen));
            double total = 0.0;
            for (std::size_t i = 0; i < rows_; ++i) {
                nearest_[i] = std::min(nearest_[i], distance(i, row(chosen)));
                total += nearest_[i];
            }
            chosen = draw(generator.uniform53() * total);
        }
    }

    // Lloyd's iteration up to a fixed point.
    void settle() {
        constexpr int most_rounds = 1000;  // rounding could make it go round in circles
        for (int round = 0; round < most_rounds && assign(); ++round) move();
    }

    // The member nearest each centre, with the size of its cluster.
    void report(std::span<std::uint32_t> members, std::span<double> shares) const {
        constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::uint32_t> best(count_, none);
        for (std::uint32_t i = 0; i < rows_; ++i) {
            std::uint32_t& known = best[owner_[i]];
            if (known == none || nearest_[i] < nearest_[known]) known = i;
        }
        std::vector<std::size_t> order(count_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&best](std::size_t c) { return best[c]; });
        for (std::size_t k = 0; k < count_; ++k) {
            members[k] = best[order[k]];
            shares[k] = static_cast<double>(sizes_[order[k]]) / static_cast<double>(rows_);
        }
    }

private:
    const double* row(std::size_t i) const noexcept { return &sample_[i * columns_]; }

    double& coordinate(std::size_t centre, std::size_t d) noexcept {
        return tiles_[(centre / tile_width * columns_ + d) * tile_width + centre % tile_width];
    }

    void place(std::size_t centre, const double* at) noexcept {
        for (std::size_t d = 0; d < columns_; ++d) coordinate(centre, d) = at[d];
    }

    double distance(std::size_t i, const double* other) const noexcept {
        double sum = 0.0;
        for (std::size_t d = 0; d < columns_; ++d) {
            const double difference = row(i)[d] - other[d];
            sum += difference * difference;
        }
        return sum;
    }

    // The first row up to which the distances add up to more than `threshold`; if there is none, the first row
    // that is no centre yet, else row 0.
    std::uint32_t draw(double threshold) const noexcept {
        double sum = 0.0;
        for (std::uint32_t i = 0; i < rows_; ++i) {
            sum += nearest_[i];
            if (sum > threshold) return i;
        }
        for (std::uint32_t i = 0; i < rows_; ++i) {
            if (nearest_[i] > 0.0) return i;
        }
        return 0;
    }

    // Gives every row to its nearest centre; whether any changed. No cluster stays empty.
    bool assign() noexcept {
        bool has_changed = false;
        std::ranges::fill(sizes_, std::size_t{0});
        for (std::size_t i = 0; i < rows_; ++i) {
            measure_(tiles_.data(), row(i), columns_, width_, distances_.data());
            const auto first = distances_.begin();
            const auto found = std::min_element(first, first + static_cast<std::ptrdiff_t>(count_));
            const auto owner = static_cast<std::uint32_t>(found - first);
            has_changed = has_changed || owner != owner_[i];
            owner_[i] = owner;
            nearest_[i] = *found;
            ++sizes_[owner];
        }
        for (std::size_t c = 0; c < count_; ++c) {
            if (sizes_[c] == 0) {
                adopt_farthest(c);
                has_changed = true;
            }
        }
        return has_changed;
    }

    // Gives an empty cluster the row that is farthest from the centre of a cluster of several rows.
    void adopt_farthest(std::size_t centre) noexcept {
        std::size_t farthest = rows_;
        for (std::size_t i = 0; i < rows_; ++i) {
            if (sizes_[owner_[i]] > 1 && (farthest == rows_ || nearest_[i] > nearest_[farthest])) farthest = i;
        }
        --sizes_[owner_[farthest]];
        owner_[farthest] = static_cast<std::uint32_t>(centre);
        sizes_[centre] = 1;
        nearest_[farthest] = 0.0;
    }

    // Moves every centre to the mean of its rows, added in index order.
    void move() noexcept {
        std::ranges::fill(tiles_, 0.0);
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t d = 0; d < columns_; ++d) coordinate(owner_[i], d) += row(i)[d];
        }
        for (std::size_t c = 0; c < count_; ++c) {
            for (std::size_t d = 0; d < columns_; ++d) coordinate(c, d) /= static_cast<double>(sizes_[c]);
        }
    }

    std::span<const double> sample_;
    std::size_t columns_;
    std::size_t rows_;
    std::size_t count_;
    std::size_t width_;
    std::vector<double> tiles_;  // centres, in the layout of `measure`
    std::vector<double> distances_;
    std::vector<std::uint32_t> owner_;
    std::vector<double> nearest_;
    std::vector<std::size_t> sizes_;
    Measure measure_;
};

}  // namespace

void reduce(std::uint64_t seed, std::span<const double> sample, std::size_t columns,
            std::span<std::uint32_t> members, std::span<double> shares) {
    if (columns == 0 || members.empty()) return;
    Generator generator(seed);
    Clusters clusters(sample, columns, members.size());
    clusters.choose(generator);
    clusters.settle();
    clusters.report(members, shares);
}

}  // namespace cobre::noise
