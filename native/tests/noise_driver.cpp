// Exercises the random recipe without Python, so that sanitizers see all of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "fitting/elimination.hpp"
#include "fitting/pearson.hpp"
#include "noise/correlation.hpp"
#include "noise/elementary.hpp"
#include "noise/fresh.hpp"
#include "noise/generator.hpp"
#include "noise/halton.hpp"
#include "noise/normal.hpp"
#include "noise/reduction.hpp"
#include "noise/sampling.hpp"
#include "noise/seeds.hpp"
#include "report.hpp"

namespace {

using namespace cobre::noise;
using cobre::tests::Report;

void check_seeds(Report& report) {
    report.expect(forward_seed(42, 0, 0, 0) == 4418977803187233897u, "the golden forward seed");
    report.expect(stage_seed(42, 0) == 983776962555776753u, "the golden stage seed");
    report.expect(opening_seed(42, 0, 1) != opening_seed(42, 1, 0), "openings and stages have seeds of their own");
    std::array<std::byte, 40> message{};
    for (std::size_t n = 0; n + 1 < message.size(); ++n) {
        report.expect(siphash13({message.data(), n}) != siphash13({message.data(), n + 1}),
                      "the length is hashed");
    }
}

void check_numbers(Report& report) {
    constexpr double largest = std::numeric_limits<double>::max(), smallest = 5e-324;
    report.expect(std::fabs(logarithm(largest) - std::log(largest)) < 1e-12, "the largest logarithm");
    report.expect(std::fabs(logarithm(smallest) - std::log(smallest)) < 1e-12, "the smallest logarithm");
    report.expect(logarithm(1.0) == 0.0 && exponential(0.0) == 1.0, "log 1 and e^0 are exact");
    Generator generator(1);
    double sum = 0.0, squares = 0.0;
    constexpr int n = 200000;
    for (int i = 0; i < n; ++i) {
        const double x = draw_normal(generator);
        sum += x;
        squares += x * x;
    }
    report.expect(std::fabs(sum / n) < 0.01 && std::fabs(squares / n - 1.0) < 0.02, "normal numbers look normal");
    bool is_below = true;
    for (const std::uint32_t bound : {1u, 2u, 7u, 0x80000001u, 0xffffffffu}) {
        for (int i = 0; i < 1000; ++i) is_below = is_below && generator.below(bound) < bound;
    }
    report.expect(is_below, "bounded numbers stay below their bound");
}

Block whole(std::vector<double>& values, std::size_t rows, std::size_t columns) {
    return {values.data(), rows, columns, columns};
}

void check_sampling(Report& report) {
    const std::array<double, 6> golden{4.0098936496495646e-1,  2.2792558815859804e-1, -1.3954121776085244,
                                       -2.6939366921736746e-1, 8.3370317090563684e-1, -1.6199918031824887};
    std::vector<double> saa(6), empty;
    sample_saa(42, 0, whole(saa, 3, 2));
    report.expect(std::equal(saa.begin(), saa.end(), golden.begin()), "the golden openings");
    std::vector<double> lhs(13 * 5);
    sample_lhs(42, 3, whole(lhs, 13, 5));
    sample_lhs(42, 3, whole(empty, 0, 5));
    sample_lhs(42, 3, whole(empty, 5, 0));
    sample_saa(42, 3, whole(empty, 5, 0));
    const std::array<std::uint32_t, 4> openings{1, 5, 2, 9};
    std::vector<std::int32_t> chosen(3 * 4);
    draw_openings(42, 1, 7, 3, openings, chosen);
}

void check_points(Report& report) {
    // A table of two dimensions: degree 1, no coefficients, m = 1; degree 2, a = 1, m = 1, 3.
    const std::array<std::byte, 2> table{std::byte{0x41}, std::byte{0x0c}};
    const std::vector<std::uint32_t> directions = sobol_directions(table, 3);
    report.expect(directions.size() == 3 * sobol_bits, "the table is read");
    report.expect(sobol_directions(table, 5).empty(), "the end of the table is noticed");
    report.expect(first_primes(100).back() == 541, "the hundredth prime");
    for (const Scramble scramble : {Scramble::multiply, Scramble::matrix}) {
        std::vector<double> all(16 * 5), some(4 * 5);
        const Draw draw{99, 1, 2, 0, 16};
        draw_sobol(draw, directions, scramble, {all.data() + 1, 16, 3, 5});
        draw_sobol({99, 1, 2, 8, 16}, directions, scramble, {some.data() + 1, 4, 3, 5});
        report.expect(std::equal(some.begin(), some.end(), all.begin() + 8 * 5), "a part is that of the whole");
        Generator generator(7);
        sample_sobol(generator, directions, scramble, PointOrder::gray, 0, whole(all, 16, 3));
    }
    std::vector<double> values(7 * 4);
    draw_saa({1, 1, 0, 3, 10}, whole(values, 7, 4));
    draw_lhs({1, 1, 0, 3, 10}, whole(values, 7, 4));
    draw_halton({1, 1, 0, 3, 10}, whole(values, 7, 4));
}

void check_reduction(Report& report) {
    std::vector<double> sample(200 * 3);
    sample_saa(5, 0, whole(sample, 200, 3));
    for (const std::size_t n : {1u, 7u, 9u, 200u}) {
        std::vector<std::uint32_t> members(n);
        std::vector<double> shares(n);
        reduce(3, sample, 3, members, shares);
        double total = 0.0;
        for (const double share : shares) total += share;
        report.expect(std::fabs(total - 1.0) < 1e-12, "shares add up to one");
        report.expect(std::ranges::is_sorted(members) && members.back() < 200, "members are rows in order");
    }
    std::vector<double> equal(20 * 2, 1.5), shares(3);
    std::vector<std::uint32_t> members(3);
    reduce(3, equal, 2, members, shares);
    report.expect(shares[0] > 0.0 && shares[1] > 0.0 && shares[2] > 0.0, "equal rows leave no cluster empty");
}

void check_correlation(Report& report) {
    for (const std::size_t n : {0u, 1u, 2u, 9u}) {
        std::vector<double> matrix(n * n, 0.5), root(n * n), noise(7 * (n + 2), 1.0);
        std::vector<std::int64_t> positions(n);
        for (std::size_t i = 0; i < n; ++i) {
            matrix[i * n + i] = 1.0;
            positions[i] = static_cast<std::int64_t>(n + 1 - i);
        }
        square_root(matrix, n, root);
        correlate(root, positions, n + 2, noise);
        double error = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0.0;
                for (std::size_t k = 0; k < n; ++k) sum += root[i * n + k] * root[k * n + j];
                error = std::max(error, std::fabs(sum - matrix[i * n + j]));
            }
        }
        report.expect(error < 1e-13, "the root squared is the matrix");
        report.expect(noise[0] == 1.0 && noise[1] == 1.0, "columns outside the group stay");
    }
}

void check_elimination(Report& report) {
    std::vector<double> matrices{0.0, 2.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0}, right{2.0, 3.0, 1.0, 1.0};
    std::vector<std::uint8_t> is_singular(2);
    cobre::fitting::solve({2, 2, 1}, matrices, right, is_singular);
    report.expect(right[0] == 2.0 && right[1] == 1.0, "rows are exchanged where a pivot is 0");
    report.expect(is_singular[0] == 0 && is_singular[1] == 1,
                  "a singular system is marked, the others are solved");
}

void check_pearson(Report& report) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values{1.0, 2.0, 3.0, none, 2.0, 4.0, 6.0, 1.0, 5.0, 5.0, 5.0, 5.0};
    std::vector<double> matrix(9);
    std::vector<std::int64_t> common(9);
    cobre::fitting::pearson(values, 3, 4, matrix, common);
    report.expect(std::fabs(matrix[1] - 1.0) < 1e-15, "series that go together correlate by 1");
    report.expect(matrix[2] == 0.0 && matrix[8] == 1.0, "a constant series correlates with itself alone");
    report.expect(common[1] == 3 && common[5] == 4, "dates that both have are counted");
}

}  // namespace

int main() {
    Report report;
    check_seeds(report);
    check_numbers(report);
    check_sampling(report);
    check_points(report);
    check_reduction(report);
    check_correlation(report);
    check_elimination(report);
    check_pearson(report);
    return report.finish();
}
