"""The share of each season's deviation that is noise, such that the model as a whole keeps every deviation.

With standardised inflows of variance 1 in every season the correlations ρ_m(k) that a periodic autoregression implies
solve one linear system over all seasons and lags 1..K::

    ρ_m(k) = Σ_j φ_mj ρ_{m-min(j,k)}(|k - j|),   ρ(0) = 1

and the noise of season m has the variance r_m² = 1 - Σ_j φ_mj ρ_m(j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import solve
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS

__all__ = ["Closure", "close", "effective_coefficients"]

MOST_NUMBERS = 2**17
"""Of matrices that are worked on at a time: 1 MB, which stays in a processor's cache."""


@dataclass(frozen=True, eq=False)
class Closure:
    """``rho`` (hydros, seasons, P + 1) with 1 at lag 0, ``variance`` r² (hydros, seasons), ``is_singular`` (hydros)."""

    rho: Floats
    variance: Floats
    is_singular: NDArray[np.bool_]

    @property
    def ratio(self) -> Floats:
        """r (hydros, seasons); 0 where the variance is not positive, which `stationarity` refuses."""
        return np.sqrt(np.maximum(self.variance, 0.0))


def effective_coefficients(phi: Floats, psi: Floats, std: Floats, annual_std: Floats) -> Floats:
    """φ with the annual term spread over its twelve lags: φ_l + ψ s_{m-l} / (12 s_A).

    ``phi`` (hydros, seasons, P); ``psi``, ``std`` and ``annual_std`` (hydros, seasons), the last that of the season
    before. Without any annual term φ is given back.
    """
    share = np.divide(psi, annual_std, out=np.zeros_like(psi), where=annual_std > 0.0)
    if not share.any():
        return phi
    n_lags = max(phi.shape[2], ANNUAL_SEASONS)
    effective = np.zeros((*phi.shape[:2], n_lags))
    effective[:, :, : phi.shape[2]] = phi
    for lag in range(1, ANNUAL_SEASONS + 1):
        effective[:, :, lag - 1] += share * np.roll(std, lag, axis=1) / ANNUAL_SEASONS
    return effective


def close(phi: Floats) -> Closure:
    """The closure of coefficients (hydros, seasons, P); hydros of one largest order are solved together."""
    n_hydros, n_seasons, n_lags = phi.shape
    rho = np.zeros((n_hydros, n_seasons, n_lags + 1))
    rho[:, :, 0] = 1.0
    is_singular = np.zeros(n_hydros, dtype=bool)
    used = (phi != 0.0).any(axis=1)
    largest = (
        np.where(used.any(axis=1), n_lags - np.argmax(used[:, ::-1], axis=1), 0)
        if n_lags
        else np.zeros(n_hydros)
    )
    for k in sorted(set(largest.astype(int).tolist()) - {0}):
        mine = np.flatnonzero(largest == k)
        size = max(1, MOST_NUMBERS // (n_seasons * k) ** 2)
        for part in (mine[i : i + size] for i in range(0, len(mine), size)):
            found, is_singular[part] = _solve(phi[part, :, :k])
            rho[part, :, 1 : k + 1] = found
            _extend(rho, phi, part, k)
    variance = np.ones((n_hydros, n_seasons))
    for lag in range(n_lags):
        variance = variance - phi[:, :, lag] * rho[:, :, lag + 1]
    return Closure(rho, variance, is_singular)


def _extend(rho: Floats, phi: Floats, hydros: NDArray[np.int64], order: int) -> None:
    """Fill in the correlations of lags beyond the largest order of these hydros: ρ_m(k) = Σ_j φ_mj ρ_{m-j}(k - j)."""
    for lag in range(order + 1, rho.shape[2]):
        total = np.zeros((len(hydros), rho.shape[1]))
        for j in range(1, order + 1):
            total += phi[hydros, :, j - 1] * np.roll(rho[hydros, :, lag - j], j, axis=1)
        rho[hydros, :, lag] = total


def _solve(phi: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    n, n_seasons, n_lags = phi.shape
    matrix = np.zeros((n, n_seasons, n_lags, n_seasons, n_lags))
    right = np.zeros((n, n_seasons, n_lags))
    for m in range(n_seasons):
        for k in range(1, n_lags + 1):
            matrix[:, m, k - 1, m, k - 1] += 1.0
            for j in range(1, n_lags + 1):
                coefficient = phi[:, m, j - 1]
                if j == k:
                    right[:, m, k - 1] += coefficient
                else:
                    matrix[:, m, k - 1, (m - min(j, k)) % n_seasons, abs(k - j) - 1] -= coefficient
    size = n_seasons * n_lags
    found, is_singular = solve(matrix.reshape(n, size, size), right.reshape(n, size, 1))
    return found.reshape(n, n_seasons, n_lags), is_singular
