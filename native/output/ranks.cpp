#include "output/ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace cobre::output {

namespace {

constexpr std::size_t at_a_time = 64;  // places that are copied together: whole lines of the cache
constexpr std::size_t buckets = 512;
constexpr std::size_t few = 48;  // are sorted
constexpr int most_rounds = 4;

struct Spread {
    double least, greatest;
    bool has_nan;
};

Spread spread_of(std::span<const double> values) {
    Spread found{values[0], values[0], false};
    for (const double value : values) {
        found.least = value < found.least ? value : found.least;
        found.greatest = value > found.greatest ? value : found.greatest;
        found.has_nan |= value != value;
    }
    return found;
}

// Values go into buckets of equal width; of those only the ones with a rank that is asked for are looked at again.
class Selection {
public:
    explicit Selection(std::size_t n) : bucket_(n), scratch_(n) {}

    // Changes the order of `values`; `ranks` are `offset` too high for them.
    void select(std::span<double> values, std::size_t offset, std::span<const std::size_t> ranks, double* found,
                int round = 0) {
        if (values.size() <= few || round == most_rounds) return sorted(values, offset, ranks, found);
        const Spread spread = spread_of(values);
        if (spread.has_nan) return fill(ranks.size(), std::numeric_limits<double>::quiet_NaN(), found);
        if (spread.least == spread.greatest) return fill(ranks.size(), spread.least, found);
        const double per_width = static_cast<double>(buckets) / (spread.greatest - spread.least);
        if (!std::isnormal(per_width)) return sorted(values, offset, ranks, found);
        std::array<std::size_t, buckets + 1> ends{};
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto at = static_cast<std::size_t>((values[i] - spread.least) * per_width);
            bucket_[i] = static_cast<std::uint16_t>(std::min(at, buckets - 1));
            ++ends[bucket_[i] + 1U];
        }
        for (std::size_t k = 1; k <= buckets; ++k) ends[k] += ends[k - 1];
        for (std::size_t i = 0; i < values.size(); ++i) scratch_[ends[bucket_[i]]++] = values[i];
        std::copy_n(scratch_.begin(), values.size(), values.begin());
        // Now ends[k] is where bucket k ends.
        for (std::size_t k = 0, first = 0, done = 0; done < ranks.size(); first = ends[k++]) {
            std::size_t next = done;
            while (next < ranks.size() && ranks[next] - offset < ends[k]) ++next;
            if (next == done) continue;
            select(values.subspan(first, ends[k] - first), offset + first, ranks.subspan(done, next - done),
                   found + done, round + 1);
            done = next;
        }
    }

private:
    static void fill(std::size_t n, double value, double* found) { std::fill_n(found, n, value); }
    static void sorted(std::span<double> values, std::size_t offset, std::span<const std::size_t> ranks,
                       double* found) {
        for (const double value : values) {
            if (value != value) return fill(ranks.size(), value, found);
        }
        std::ranges::sort(values);
        for (std::size_t k = 0; k < ranks.size(); ++k) found[k] = values[ranks[k] - offset];
    }

    std::vector<std::uint16_t> bucket_;
    std::vector<double> scratch_;
};

}  // namespace

void values_at_ranks(const Columns& columns, std::span<const std::size_t> ranks, std::span<double> found) {
    const std::size_t n = columns.scenarios;
    const std::size_t stride = n | 15;  // not a power of two, or all entries would map to the same cache lines
    std::vector<double> copies(at_a_time * stride);
    Selection selection(n);
    for (std::size_t first = 0; first < columns.places; first += at_a_time) {
        const std::size_t width = std::min(at_a_time, columns.places - first);
        for (std::size_t i = 0; i < n; ++i) {
            const double* row = columns.values + i * columns.stride + first;
            for (std::size_t k = 0; k < width; ++k) copies[k * stride + i] = row[k];
        }
        for (std::size_t k = 0; k < width; ++k) {
            selection.select(std::span(copies).subspan(k * stride, n), 0, ranks,
                             found.data() + (first + k) * ranks.size());
        }
    }
}

}  // namespace cobre::output
