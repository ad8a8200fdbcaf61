#include "fitting/pearson.hpp"

#include <algorithm>
#include <cmath>

namespace cobre::fitting {

namespace {

constexpr double smallest_deviation = 0x1p-52;

struct Pair {
    double correlation;
    std::int64_t common;
};

Pair pearson_of(const double* x, const double* y, std::size_t dates) noexcept {
    std::int64_t common = 0;
    double mean_x = 0.0, mean_y = 0.0;
    for (std::size_t t = 0; t < dates; ++t) {
        if (std::isnan(x[t]) || std::isnan(y[t])) continue;
        mean_x += x[t];
        mean_y += y[t];
        ++common;
    }
    if (common < 2) return {0.0, common};
    const auto n = static_cast<double>(common);
    mean_x /= n;
    mean_y /= n;
    double xx = 0.0, yy = 0.0, xy = 0.0;
    for (std::size_t t = 0; t < dates; ++t) {
        if (std::isnan(x[t]) || std::isnan(y[t])) continue;
        const double dx = x[t] - mean_x, dy = y[t] - mean_y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    const double deviation_x = std::sqrt(xx / (n - 1.0)), deviation_y = std::sqrt(yy / (n - 1.0));
    if (deviation_x < smallest_deviation || deviation_y < smallest_deviation) return {0.0, common};
    return {std::clamp(xy / (n - 1.0) / (deviation_x * deviation_y), -1.0, 1.0), common};
}

}  // namespace

void pearson(std::span<const double> values, std::size_t series, std::size_t dates, std::span<double> matrix,
             std::span<std::int64_t> common) noexcept {
    for (std::size_t i = 0; i < series; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            const Pair pair = pearson_of(values.data() + i * dates, values.data() + j * dates, dates);
            matrix[i * series + j] = matrix[j * series + i] = i == j ? 1.0 : pair.correlation;
            common[i * series + j] = common[j * series + i] = pair.common;
        }
    }
}

}  // namespace cobre::fitting
