#include "noise/correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "noise/lanes.hpp"

namespace cobre::noise {

namespace {

// Turns rows p and q of `matrix`: p' = c p - s q, q' = s p + c q.
void rotate_rows(double* p, double* q, std::size_t n, double c, double s) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        const double x = p[i], y = q[i];
        p[i] = c * x - s * y;
        q[i] = s * x + c * y;
    }
}

class Jacobi {
public:
    Jacobi(std::span<const double> matrix, std::size_t n)
        : n_(n), matrix_(matrix.begin(), matrix.end()), vectors_(n * n, 0.0) {
        for (std::size_t i = 0; i < n; ++i) vectors_[i * n + i] = 1.0;
    }

    void solve() noexcept {
        constexpr int most_sweeps = 60;  // a dozen is plenty; convergence is quadratic
        // The limits are those of the case format: the bits of the root depend on them.
        for (int sweep = 0; sweep < most_sweeps && off_diagonal() >= 1e-24; ++sweep) {
            for (std::size_t p = 0; p + 1 < n_; ++p) {
                for (std::size_t q = p + 1; q < n_; ++q) annihilate(p, q);
            }
        }
    }

    double value(std::size_t i) const noexcept { return matrix_[i * n_ + i]; }
    // Eigenvectors are rows, so that rotations run along memory.
    const double* vector(std::size_t i) const noexcept { return &vectors_[i * n_]; }

private:
    double off_diagonal() const noexcept {
        double sum = 0.0;
        for (std::size_t p = 0; p < n_; ++p) {
            for (std::size_t q = 0; q < p; ++q) sum += 2.0 * (matrix_[p * n_ + q] * matrix_[p * n_ + q]);
        }
        return sum;
    }

    void annihilate(std::size_t p, std::size_t q) noexcept {
        double* const a = matrix_.data();
        const double pp = a[p * n_ + p], qq = a[q * n_ + q], pq = a[p * n_ + q];
        if (std::fabs(pq) < std::numeric_limits<double>::epsilon()) return;
        const double theta = (qq - pp) / (2.0 * pq);
        const double sign = theta >= 0.0 ? 1.0 : -1.0;
        const double t = sign / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
        rotate_rows(&a[p * n_], &a[q * n_], n_, c, s);
        a[p * n_ + p] = pp - t * pq;
        a[q * n_ + q] = qq + t * pq;
        a[p * n_ + q] = a[q * n_ + p] = 0.0;
        for (std::size_t i = 0; i < n_; ++i) {
            if (i == p || i == q) continue;
            a[i * n_ + p] = a[p * n_ + i];
            a[i * n_ + q] = a[q * n_ + i];
        }
        rotate_rows(&vectors_[p * n_], &vectors_[q * n_], n_, c, s);
    }

    std::size_t n_;
    std::vector<double> matrix_;
    std::vector<double> vectors_;
};

}  // namespace

double square_root(std::span<const double> matrix, std::size_t n, std::span<double> root) {
    Jacobi jacobi(matrix, n);
    jacobi.solve();
    std::ranges::fill(root, 0.0);
    double smallest = n == 0 ? 0.0 : jacobi.value(0);
    for (std::size_t k = 0; k < n; ++k) {
        smallest = std::min(smallest, jacobi.value(k));
        const double scale = std::sqrt(std::max(jacobi.value(k), 0.0));
        const double* const v = jacobi.vector(k);
        for (std::size_t i = 0; i < n; ++i) {
            const double factor = scale * v[i];
            for (std::size_t j = 0; j < n; ++j) root[i * n + j] += factor * v[j];
        }
    }
    return smallest;
}

namespace {

constexpr std::size_t row_group = 4;

// The factor in tiles of `tile_width` rows, each tile column after column; rows that do not exist are 0. The
// factor is symmetric but for rounding, which is part of the bits.
std::vector<double> in_tiles(std::span<const double> root, std::size_t n) {
    std::vector<double> tiles(n * padded(n), 0.0);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            tiles[i / tile_width * (tile_width * n) + j * tile_width + i % tile_width] = root[i * n + j];
        }
    }
    return tiles;
}

// sums[r][i] = sum over j = 0, 1, 2, ... of tile[j][i] taken[j][r]: one tile for four rows.
[[gnu::always_inline]] inline void multiply_tile(const double* tile, const double* taken, std::size_t n,
                                                 double* sums, std::size_t width) noexcept {
    Lanes a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, d0{}, d1{}, left, right;
    for (std::size_t j = 0; j < n; ++j, tile += tile_width, taken += row_group) {
        load(tile, left);
        load(tile + lane_count, right);
        a0 += left * taken[0];
        a1 += right * taken[0];
        b0 += left * taken[1];
        b1 += right * taken[1];
        c0 += left * taken[2];
        c1 += right * taken[2];
        d0 += left * taken[3];
        d1 += right * taken[3];
    }
    store(sums, a0);
    store(sums + lane_count, a1);
    store(sums + width, b0);
    store(sums + width + lane_count, b1);
    store(sums + 2 * width, c0);
    store(sums + 2 * width + lane_count, c1);
    store(sums + 3 * width, d0);
    store(sums + 3 * width + lane_count, d1);
}

[[gnu::always_inline]] inline void multiply_rows(const double* tiles, const double* taken, std::size_t n,
                                                 double* sums) noexcept {
    const std::size_t width = padded(n);
    for (std::size_t i = 0; i < width; i += tile_width) multiply_tile(tiles + i * n, taken, n, sums + i, width);
}

using MultiplyRows = void (*)(const double*, const double*, std::size_t, double*) noexcept;

void multiply_rows_plain(const double* tiles, const double* taken, std::size_t n, double* sums) noexcept {
    multiply_rows(tiles, taken, n, sums);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void multiply_rows_wide(const double* tiles, const double* taken, std::size_t n,
                                                double* sums) noexcept {
    multiply_rows(tiles, taken, n, sums);
}
MultiplyRows best_multiply_rows() noexcept { return has_wide_lanes() ? multiply_rows_wide : multiply_rows_plain; }
#else
MultiplyRows best_multiply_rows() noexcept { return multiply_rows_plain; }
#endif

}  // namespace

void correlate(std::span<const double> root, std::span<const std::int64_t> positions, std::size_t columns,
               std::span<double> noise) {
    const std::size_t n = positions.size();
    const std::size_t rows = columns == 0 ? 0 : noise.size() / columns;
    const std::vector<double> tiles = in_tiles(root, n);
    const MultiplyRows multiply = best_multiply_rows();
    std::vector<double> taken(row_group * n), sums(row_group * padded(n));
    for (std::size_t first = 0; first < rows; first += row_group) {
        const std::size_t count = std::min(row_group, rows - first);
        for (std::size_t r = 0; r < count; ++r) {
            const double* const row = &noise[(first + r) * columns];
            for (std::size_t j = 0; j < n; ++j) taken[j * row_group + r] = row[positions[j]];
        }
        multiply(tiles.data(), taken.data(), n, sums.data());
        for (std::size_t r = 0; r < count; ++r) {
            double* const row = &noise[(first + r) * columns];
            for (std::size_t j = 0; j < n; ++j) row[positions[j]] = sums[r * padded(n) + j];
        }
    }
}

}  // namespace cobre::noise
