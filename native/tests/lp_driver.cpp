// Kernels of the solver: wide registers give what narrow ones give, bit by bit, and nothing is written beyond the
// end. Passes with threads have the bits of passes without.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "lp/kernels.hpp"
#include "lp_passes_checks.hpp"
#include "report.hpp"

namespace {

using namespace cobre::lp;
using cobre::tests::Report;
using Vector = std::vector<double>;
using Places = std::vector<std::int32_t>;

// Few different numbers, zeros and infinities among them, so that many are equal.
Vector numbers(std::size_t n, std::mt19937_64& random) {
    static const double some[] = {0.0, -0.0, 1.0, -1.0, 1e-9, -1e-9, 0.3, -0.7, 1e9, INFINITY, -INFINITY};
    Vector all(n);
    for (double& each : all) each = some[random() % std::size(some)];
    return all;
}

Vector finite(std::size_t n, std::mt19937_64& random) {
    std::uniform_real_distribution<double> draw(-1.0, 1.0);
    Vector all(n);
    for (double& each : all) each = random() % 4 == 0 ? 0.0 : draw(random);
    return all;
}

template <class Kernel>
Places places(std::size_t n, Kernel&& kernel) {
    Places out(n + kernel_room);
    out.resize(kernel(out.data()));
    return out;
}

bool is_same(const Vector& a, const Vector& b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void check(Report& report, std::size_t n, std::mt19937_64& random) {
    const Vector x = finite(n, random), low = numbers(n, random), high = numbers(n, random);
    const Vector a = numbers(n, random), b = finite(n, random);
    report.expect(places(n, [&](auto* out) { return outside(x.data(), low.data(), high.data(), 1e-9, n, out); }) ==
                      places(n,
                             [&](auto* out) {
                                 return kernels::outside_from(0, 0, x.data(), low.data(), high.data(), 1e-9, n,
                                                              out);
                             }),
                  "the same values are outside of their limits");
    report.expect(places(n, [&](auto* out) { return filled(a.data(), n, out); }) ==
                      places(n, [&](auto* out) { return kernels::filled_from(0, 0, a.data(), n, out); }),
                  "the same numbers are not 0");
    for (const double sign : {1.0, -1.0})
        report.expect(
            places(n, [&](auto* out) { return products_above(sign, x.data(), b.data(), 1e-9, n, out); }) ==
                places(
                    n,
                    [&](auto* out) { return kernels::above_from(0, 0, sign, x.data(), b.data(), 1e-9, n, out); }),
            "the same products are above the limit");
    Vector one = x, other = x;
    add_multiple(one.data(), 0.1, b.data(), n);
    add_multiple_of_any(other.data(), 0.1, b.data(), n);
    report.expect(is_same(one, other), "a multiple is added with the same bits");
    report.expect(is_same({dot(one.data(), b.data(), n)}, {dot_of_any(one.data(), b.data(), n)}),
                  "a product of two vectors has the same bits");

    const std::size_t n_columns = random() % 5;
    const Vector factors = finite(n_columns, random), sides = finite(n, random);
    std::vector<Vector> columns(n_columns);
    std::vector<const double*> starts;
    for (Vector& column : columns) starts.push_back((column = finite(n, random)).data());
    Vector expected = sides, sums = sides;  // in place, as the sums of the next columns are added
    const auto found = greatest_sum(sums.data(), factors.data(), starts.data(), n_columns, n, sums.data());
    double greatest = 0.0;
    std::int32_t place = -1;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n_columns; ++j) expected[i] += factors[j] * columns[j][i];
        if (expected[i] > greatest) {
            greatest = expected[i];
            place = static_cast<std::int32_t>(i);
        }
    }
    report.expect(is_same(sums, expected), "sums are added up with the same bits");
    report.expect(found.place == place && found.value == greatest,
                  "the greatest sum is found, the first of equals");
}

}  // namespace

int main() {
    Report report;
    std::mt19937_64 random(18);
    for (std::size_t n = 0; n < 140; ++n)
        for (int round = 0; round < 5; ++round) check(report, n, random);
    cobre::tests::check_passes(report);
    return report.finish();
}
