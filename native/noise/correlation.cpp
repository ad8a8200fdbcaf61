#include "noise/correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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
        double whole = 0.0;
        for (const double value : matrix_) whole += value * value;
        for (int sweep = 0; sweep < most_sweeps && off_diagonal() > 1e-34 * whole; ++sweep) {
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
            for (std::size_t q = p + 1; q < n_; ++q) sum += 2.0 * matrix_[p * n_ + q] * matrix_[p * n_ + q];
        }
        return sum;
    }

    void annihilate(std::size_t p, std::size_t q) noexcept {
        double* const a = matrix_.data();
        const double pp = a[p * n_ + p], qq = a[q * n_ + q], pq = a[p * n_ + q];
        if (pq == 0.0) return;
        const double theta = (qq - pp) / (2.0 * pq);
        const double t = std::copysign(1.0, theta) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
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
            for (std::size_t j = 0; j <= i; ++j) root[i * n + j] += factor * v[j];
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) root[j * n + i] = root[i * n + j];
    }
    return smallest;
}

void correlate(std::span<const double> root, std::span<const std::int64_t> positions, std::size_t columns,
               std::span<double> noise) {
    // Four rows share each pass over the factor. Every number is summed over j = 0, 1, 2, ... all the same.
    constexpr std::size_t group = 4;
    const std::size_t n = positions.size();
    const std::size_t rows = columns == 0 ? 0 : noise.size() / columns;
    std::vector<double> taken(group * n), sums(group * n);
    for (std::size_t first = 0; first < rows; first += group) {
        const std::size_t count = std::min(group, rows - first);
        for (std::size_t r = 0; r < count; ++r) {
            const double* const row = &noise[(first + r) * columns];
            for (std::size_t j = 0; j < n; ++j) taken[r * n + j] = row[positions[j]];
        }
        std::ranges::fill(sums, 0.0);
        double *const s0 = sums.data(), *const s1 = s0 + n, *const s2 = s1 + n, *const s3 = s2 + n;
        for (std::size_t j = 0; j < n; ++j) {
            const double* const d = &root[j * n];
            const double t0 = taken[j], t1 = taken[n + j], t2 = taken[2 * n + j], t3 = taken[3 * n + j];
            for (std::size_t i = 0; i < n; ++i) {
                s0[i] += d[i] * t0;
                s1[i] += d[i] * t1;
                s2[i] += d[i] * t2;
                s3[i] += d[i] * t3;
            }
        }
        for (std::size_t r = 0; r < count; ++r) {
            double* const row = &noise[(first + r) * columns];
            for (std::size_t j = 0; j < n; ++j) row[positions[j]] = sums[r * n + j];
        }
    }
}

}  // namespace cobre::noise
