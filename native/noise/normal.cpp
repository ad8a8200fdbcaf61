#include "noise/normal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "noise/elementary.hpp"

namespace cobre::noise {

namespace {

constexpr double right_edge = 3.654152885361008796;

double draw_tail(Generator& generator, bool is_left) noexcept {
    double x = 0.0, y = 0.0;
    do {
        x = logarithm(generator.open_uniform()) / right_edge;
        y = logarithm(generator.open_uniform());
    } while (-2.0 * y < x * x);
    return is_left ? x - right_edge : right_edge - x;
}

}  // namespace

double draw_normal(Generator& generator) noexcept {
    for (;;) {
        const std::uint64_t bits = generator.next();
        const std::size_t layer = bits & 0xff;
        const double u = static_cast<double>(bits >> 12) * 0x1p-51 - 1.0;
        const double x = u * ziggurat_edges[layer];
        if (std::fabs(x) < ziggurat_edges[layer + 1]) return x;
        if (layer == 0) return draw_tail(generator, u < 0.0);
        const double below = ziggurat_densities[layer + 1];
        const double height = below + (ziggurat_densities[layer] - below) * generator.uniform53();
        if (height < exponential(-x * x / 2.0)) return x;
    }
}

void fill_normals(std::uint64_t seed, std::span<double> out) noexcept {
    Generator generator(seed);
    for (double& value : out) value = draw_normal(generator);
}

double normal_quantile(double p) noexcept {
    constexpr std::array a{2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637};
    constexpr std::array b{-8.47351093090, 23.08336743743, -21.06224101826, 3.13082909833};
    constexpr std::array c{0.3374754822726147, 0.9761690190917186, 0.1607979714918209,
                           0.0276438810333863, 0.0038405729373609, 0.0003951896511349,
                           0.0000321767881768, 0.0000002888167364, 0.0000003960315187};
    constexpr double farthest = 8.21, smallest = 1e-20;  // the tail's polynomial is fitted down to there
    if (p <= smallest) return -farthest;
    const double y = p - 0.5;
    if (std::fabs(y) < 0.42) {
        const double r = y * y;
        const double numerator = ((a[3] * r + a[2]) * r + a[1]) * r + a[0];
        const double denominator = (((b[3] * r + b[2]) * r + b[1]) * r + b[0]) * r + 1.0;
        return y * numerator / denominator;
    }
    const double r = logarithm(-logarithm(y < 0.0 ? p : 1.0 - p));
    double z = c.back();
    for (std::size_t i = c.size() - 1; i-- > 0;) z = z * r + c[i];
    return y < 0.0 ? -z : z;
}

double normal_of_uniform(double u) noexcept {
    constexpr double lowest = std::numeric_limits<double>::min();
    constexpr double highest = 1.0 - std::numeric_limits<double>::epsilon();
    return normal_quantile(std::clamp(u, lowest, highest));
}

}  // namespace cobre::noise
