"""PAR(p) and PAR(p)-A as in the description of the method, number by number: slow, and written without the package."""

from __future__ import annotations

import math

import numpy as np

EPSILON = 2.0**-52


def solve(matrix, right):
    """Gaussian elimination with the first largest pivot; None where one is below EPSILON."""
    a = [[*map(float, row), float(value)] for row, value in zip(matrix, right, strict=True)]
    n = len(a)
    for c in range(n):
        p = max(range(c, n), key=lambda r: (abs(a[r][c]), -r))
        if abs(a[p][c]) < EPSILON:
            return None
        a[c], a[p] = a[p], a[c]
        for r in range(c + 1, n):
            factor = a[r][c] / a[c][c]
            a[r] = [x - factor * y for x, y in zip(a[r], a[c], strict=True)]
    x = [0.0] * n
    for r in reversed(range(n)):
        x[r] = (a[r][n] - sum(a[r][k] * x[k] for k in range(r + 1, n))) / a[r][r]
    return x


class Recipe:
    """One plant: ``values`` (years, 12) with NaN before the first and after the last observation."""

    def __init__(self, values, max_order, is_annual=False, max_magnitude=None):
        self.max_order, self.is_annual, self.max_magnitude = max_order, is_annual, max_magnitude
        self.n = values.shape[1]
        known = [np.flatnonzero(~np.isnan(column)) for column in values.T]
        self.first_year = [int(years[0]) for years in known]
        self.z = [values[years, m] for m, years in enumerate(known)]
        self.mean, self.std = [z.mean() for z in self.z], [z.std() for z in self.z]
        if is_annual:
            self._file_annual_means(values.ravel())

    def _file_annual_means(self, series):
        self.a, self.annual_year = [[] for _ in range(self.n)], [0] * self.n
        for t in range(11, len(series) - 1):  # the very last one is left out
            if not self.a[t % 12]:
                self.annual_year[t % 12] = t // 12
            self.a[t % 12].append(series[t - 11 : t + 1].mean())
        self.a = [np.array(each) for each in self.a]
        self.annual_std = [each.std() for each in self.a]

    def _years_back(self, m, k):
        return math.ceil((k - m) / self.n) if k > m else 0

    def rho(self, m, k):
        m, lagged = m % self.n, (m - k) % self.n
        shift = self.first_year[m] - self.first_year[lagged] - self._years_back(m, k)
        a, b = self.z[m][max(0, -shift) :], self.z[lagged][max(0, shift) :]
        n = min(len(a), len(b))
        product = ((a[:n] - self.mean[m]) * (b[:n] - self.mean[lagged])).sum() / n
        return 1.0 if k == 0 else min(max(product / (self.std[m] * self.std[lagged]), -1.0), 1.0)

    def _with_annual(self, m, lagged, shift):
        a, b = self.a[m][max(0, -shift) :], self.z[lagged][max(0, shift) :]
        n = min(len(a), len(b))
        total = ((a[:n] - self.a[m].mean()) * (b[:n] - self.mean[lagged])).sum()
        found = total / max(len(self.a[m]), len(self.z[lagged])) / (self.annual_std[m] * self.std[lagged])
        return min(max(found, -1.0), 1.0)

    def rho_back(self, m, k):
        """Of the annual mean that ends in season m with the season k before m."""
        m, lagged = m % self.n, (m - k) % self.n
        shift = self.annual_year[m] - self.first_year[lagged] - self._years_back(m, k)
        return self._with_annual(m, lagged, shift)

    def rho_ahead(self, m):
        """Of the annual mean that ends in season m with the season after it."""
        m, following = m % self.n, (m + 1) % self.n
        shift = self.annual_year[m] - self.first_year[following] + (following == 0)
        return self._with_annual(m, following, shift)

    def _system(self, m, p):
        matrix = [[self.rho(m - 1 - min(i, j), abs(i - j)) for j in range(p)] for i in range(p)]
        right = [self.rho(m, i + 1) for i in range(p)]
        if self.is_annual:
            border = [self.rho_back(m - 1, i) for i in range(p)]
            matrix = [[*row, value] for row, value in zip(matrix, border, strict=True)] + [[*border, 1.0]]
            right = [*right, self.rho_ahead(m - 1)]
        return matrix, right

    def solution(self, m, p):
        """Coefficients and annual coefficient of order p."""
        if p == 0 and not self.is_annual:
            return [], 0.0
        found = solve(*self._system(m, p))
        if found is None:
            return [], 0.0
        return (found[:-1], found[-1]) if self.is_annual else (found, 0.0)

    def partial(self, m):
        """Partial autocorrelations of lags 1, 2, ... up to a singular one."""
        found = []
        for k in range(1, self.max_order + 1):
            if not self.is_annual:
                unknowns = solve(*self._system(m, k))
                value = None if unknowns is None else unknowns[-1]
            else:
                value = self._conditional(m, k)
            if value is None:
                break
            found.append(value)
        return found

    def _conditional(self, m, k):
        given, now = self._system(m, k - 1)
        before = [self.rho(m - 1 - j, k - 1 - j) for j in range(k - 1)] + [self.rho_back(m - 1, k - 1)]
        by_now, by_before = solve(given, now), solve(given, before)
        if by_now is None:
            return None
        left = 1.0 - np.dot(now, by_now), 1.0 - np.dot(before, by_before)
        if left[0] * left[1] <= 0.0:
            return 0.0
        return min(max((self.rho(m, k) - np.dot(now, by_before)) / math.sqrt(left[0] * left[1]), -1.0), 1.0)

    def order(self, m, ceiling):
        partial, bound = self.partials[m][:ceiling], 1.96 / math.sqrt(len(self.z[m]))
        order = max((k for k, value in enumerate(partial, 1) if abs(value) > bound), default=0)
        if self.is_annual:
            return 0 if not partial or partial[0] == 0.0 else max(1, order)
        return order

    def contributions(self, m, phi):
        def effect(season, lag):
            season %= self.n
            if not 1 <= lag <= len(phi[season]):
                return 0.0
            return phi[season][lag - 1] * self.std[season] / self.std[(season - lag) % self.n]

        width = self.max_order + 1
        row, found = [effect(m, j + 1) for j in range(width)], []
        for i in range(len(phi[m])):
            if i:
                row = [row[0] * effect(m - i, j + 1) + after for j, after in enumerate([*row[1:], 0.0])]
            found.append(row[0])
        return found

    def fit(self):
        """Coefficients (12 lists) and annual coefficients after all reductions."""
        self.partials = [self.partial(m) for m in range(self.n)]
        model = [self.solution(m, self.order(m, self.max_order)) for m in range(self.n)]
        limit = math.inf if self.max_magnitude is None else self.max_magnitude
        for m in range(self.n):
            phi = model[m][0]
            if any(abs(value) > limit for value in phi) or (phi and phi[0] < 0.0):
                model[m] = self.solution(m, 0)
        ceilings = [self.max_order] * self.n
        while True:
            phi = [each for each, _ in model]
            failing = [m for m in range(self.n) if min(self.contributions(m, phi), default=0.0) < 0.0]
            if not failing:
                return phi, [psi for _, psi in model]
            for m in failing:
                ceilings[m] -= 1
                model[m] = self.solution(m, self.order(m, ceilings[m]) if ceilings[m] else 0)
                if model[m][0] and model[m][0][0] < 0.0:
                    model[m] = self.solution(m, 0)
