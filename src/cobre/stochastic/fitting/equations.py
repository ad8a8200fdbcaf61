"""The Yule-Walker equations of every season for every order, classical and with the mean of the year before.

Season m, order p: R φ = r with R_ij = ρ(m - 1 - min(i, j), |i - j|) and r_i = ρ(m, i + 1), i and j from 0. The partial
autocorrelation of lag k is the last unknown of order k. PAR(p)-A borders R by the correlations with the mean A of the
twelve occurrences before, whose coefficient is ψ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import solve
from cobre.stochastic.fitting.autocorrelation import AnnualMeans, CentredSeries, correlations

__all__ = ["Solutions", "annual_solutions", "classical_solutions", "periodic_correlations"]


@dataclass(frozen=True, eq=False)
class Solutions:
    """What each order gives, for every hydro and season.

    ``partial`` (hydros, seasons, P): partial autocorrelations of lags 1..P, NaN from the first singular order on.
    ``phi`` (hydros, seasons, P + 1, P): coefficients of orders 0..P, 0 beyond the order. ``psi`` (hydros, seasons,
    P + 1): annual coefficients, 0 in a classical model. ``variance`` (hydros, seasons, P): what is left unexplained by
    orders 1..P, NaN as ``partial``. ``is_solved`` (hydros, seasons, P + 1): whether the equations had a solution.
    """

    partial: Floats
    phi: Floats
    psi: Floats
    variance: Floats
    is_solved: NDArray[np.bool_]


def periodic_correlations(series: CentredSeries, max_lag: int) -> Floats:
    """ρ(m, k) as (hydros, seasons, max_lag + 1); 1 at lag 0."""
    rho = [np.ones_like(series.std)]
    rho += [correlations(series, series.back(k)) for k in range(1, max_lag + 1)]
    return np.stack(rho, axis=-1)


def _matrices(rho: Floats, order: int) -> tuple[Floats, Floats]:
    """R (hydros, seasons, order, order) and r (hydros, seasons, order)."""
    n_hydros, n_seasons, _ = rho.shape
    season = np.arange(n_seasons)
    matrix = np.ones((n_hydros, n_seasons, order, order))
    for i in range(order):
        for j in range(i + 1, order):
            entry = rho[:, (season - 1 - i) % n_seasons, j - i]
            matrix[:, :, i, j] = matrix[:, :, j, i] = entry
    return matrix, rho[:, :, 1 : order + 1]


def _solve(matrix: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """`solve` over (hydros, seasons, k, k) and (hydros, seasons, k, m)."""
    k, m = right.shape[-2:]
    found, is_singular = solve(matrix.reshape(-1, k, k), right.reshape(-1, k, m))
    return found.reshape(right.shape), is_singular.reshape(right.shape[:2])


def classical_solutions(rho: Floats) -> Solutions:
    """All orders up to the largest lag of ``rho``; a singular order ends the search."""
    n_hydros, n_seasons, n_lags = rho.shape[0], rho.shape[1], rho.shape[2] - 1
    blank = _blank(n_hydros, n_seasons, n_lags)
    matrix, right = _matrices(rho, n_lags)
    is_open = np.ones((n_hydros, n_seasons), dtype=bool)
    for k in range(1, n_lags + 1):
        found, is_singular = _solve(matrix[:, :, :k, :k], right[:, :, :k, np.newaxis])
        is_open &= ~is_singular
        phi = np.where(is_open[:, :, np.newaxis], found[:, :, :, 0], 0.0)
        blank.phi[:, :, k, :k] = phi
        blank.partial[:, :, k - 1] = np.where(is_open, phi[:, :, k - 1], np.nan)
        blank.variance[:, :, k - 1] = np.where(is_open, _unexplained(phi, right), np.nan)
        blank.is_solved[:, :, k] = is_open
    return blank


def annual_solutions(rho: Floats, series: CentredSeries, annual: AnnualMeans) -> Solutions:
    """The same for PAR(p)-A. A season without deviation of its own or of the annual mean gets nothing."""
    n_hydros, n_seasons, n_lags = rho.shape[0], rho.shape[1], rho.shape[2] - 1
    blank = _blank(n_hydros, n_seasons, n_lags)
    matrix, right = bordered_system(rho, series, annual, n_lags)
    has_annual = (np.roll(annual.std_m3s, 1, axis=1) > 0.0) & (series.std > 0.0)
    is_open = has_annual.copy()
    for k in range(n_lags + 1):
        used = [*range(k), n_lags]  # the border is the last row and column
        of_order = matrix[:, :, used][:, :, :, used]
        found, is_singular = _solve(of_order, right[:, :, used, np.newaxis])
        is_solved = has_annual & ~is_singular
        solution = np.where(is_solved[:, :, np.newaxis], found[:, :, :, 0], 0.0)
        blank.phi[:, :, k, :k], blank.psi[:, :, k] = solution[:, :, :k], solution[:, :, k]
        blank.is_solved[:, :, k] = is_solved
        if k:
            left = _unexplained(solution, right[:, :, used])
            blank.variance[:, :, k - 1] = np.where(is_solved, left, np.nan)
            value, is_singular = _conditional_partial(rho, matrix, right, k)
            is_open &= ~is_singular
            blank.partial[:, :, k - 1] = np.where(is_open, value, np.nan)
    return blank


def bordered_system(
    rho: Floats, series: CentredSeries, annual: AnnualMeans, order: int
) -> tuple[Floats, Floats]:
    """R bordered by the annual mean as its last row and column, and the right side, each for all seasons."""
    with_annual = [correlations(annual.series, series.back(i), per_pair=False) for i in range(order)]
    ahead = correlations(annual.series, series.back(-1), per_pair=False)
    matrix, right = _matrices(rho, order)
    bordered = np.ones((*matrix.shape[:2], order + 1, order + 1))
    bordered[:, :, :order, :order] = matrix
    for i, each in enumerate(with_annual):
        before = np.roll(each, 1, axis=1)  # filed under the season before
        bordered[:, :, i, order] = bordered[:, :, order, i] = before
    last = np.roll(ahead, 1, axis=1)[:, :, np.newaxis]
    return bordered, np.concatenate([right, last], axis=2)


def _conditional_partial(
    rho: Floats, matrix: Floats, right: Floats, k: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Correlation of Z_t and Z_{t-k} given what lies between and the annual mean; whether that is singular."""
    given, cross = conditional_blocks(rho, matrix, right, k)
    found, is_singular = _solve(given, np.swapaxes(cross, 2, 3))
    size = given.shape[-1]
    reduced = np.empty((*is_singular.shape, 2, 2))
    direct = np.ones_like(reduced)
    direct[:, :, 0, 1] = direct[:, :, 1, 0] = rho[:, :, k]
    for a in range(2):
        for b in range(2):
            explained = np.zeros(is_singular.shape)
            for i in range(size):
                explained = explained + cross[:, :, a, i] * found[:, :, i, b]
            reduced[:, :, a, b] = direct[:, :, a, b] - explained
    product = reduced[:, :, 0, 0] * reduced[:, :, 1, 1]
    is_positive = product > 0.0
    scale = np.sqrt(np.where(is_positive, product, 1.0))
    return np.where(is_positive, np.clip(reduced[:, :, 0, 1] / scale, -1.0, 1.0), 0.0), is_singular


def conditional_blocks(rho: Floats, matrix: Floats, right: Floats, k: int) -> tuple[Floats, Floats]:
    """Correlations among what is given (Z_{t-1}..Z_{t-k+1} and A), and of Z_t and Z_{t-k} with it (2 rows)."""
    n_seasons, border = rho.shape[1], matrix.shape[-1] - 1
    given = [*range(k - 1), border]
    season = np.arange(n_seasons)
    cross = np.empty((*matrix.shape[:2], 2, k))
    cross[:, :, 0] = right[:, :, given]
    for j in range(k - 1):
        cross[:, :, 1, j] = rho[:, (season - 1 - j) % n_seasons, k - 1 - j]
    cross[:, :, 1, k - 1] = matrix[:, :, k - 1, border]
    return matrix[:, :, given][:, :, :, given], cross


def _unexplained(solution: Floats, right: Floats) -> Floats:
    """1 - Σ x_i r_i (hydros, seasons), in index order."""
    left = np.ones(solution.shape[:2])
    for i in range(solution.shape[2]):
        left = left - solution[:, :, i] * right[:, :, i]
    return left


def _blank(n_hydros: int, n_seasons: int, n_lags: int) -> Solutions:
    shape = (n_hydros, n_seasons)
    is_solved = np.zeros((*shape, n_lags + 1), dtype=bool)
    is_solved[:, :, 0] = True
    return Solutions(
        np.full((*shape, n_lags), np.nan),
        np.zeros((*shape, n_lags + 1, n_lags)),
        np.zeros((*shape, n_lags + 1)),
        np.full((*shape, n_lags), np.nan),
        is_solved,
    )
