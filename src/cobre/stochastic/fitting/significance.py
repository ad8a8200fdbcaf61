"""Tests of what a model leaves: is it still correlated in time, and is it normal?"""

from __future__ import annotations

import math

import numpy as np

from cobre.arrays import Floats

__all__ = ["chi_square_tail", "jarque_bera", "ljung_box"]

LJUNG_BOX_LAGS = 12


def chi_square_tail(value: float, degrees: int) -> float:
    """The probability that a chi-square variable with so many degrees of freedom exceeds ``value``.

    >>> round(chi_square_tail(3.841458820694124, 1), 12), round(chi_square_tail(5.991464547107979, 2), 12)
    (0.05, 0.05)
    """
    if value <= 0.0 or degrees < 1:
        return 1.0
    half = value / 2.0
    if degrees % 2:
        tail, term, start = math.erfc(math.sqrt(half)), math.sqrt(half / math.pi) * 2.0 * math.exp(-half), 3
    else:
        tail, term, start = math.exp(-half), half * math.exp(-half), 4
    for k in range(start, degrees + 1, 2):
        tail += term
        term *= value / k
    return min(tail, 1.0)


def ljung_box(residuals: Floats, n_fitted: int) -> tuple[float, float]:
    """Q = N (N + 2) Σ ρ_k² / (N - k) over lags 1..12 of a series in order of time, and its p-value.

    Missing values (NaN) are left out of a product. ``n_fitted`` lags cost as many degrees of freedom.
    """
    is_known = ~np.isnan(residuals)
    n = int(np.count_nonzero(is_known))
    if n <= LJUNG_BOX_LAGS + 1:
        return 0.0, 1.0
    centred = np.where(is_known, np.nan_to_num(residuals) - _ordered(residuals[is_known]) / n, 0.0)
    variance = _ordered(centred * centred)
    if variance <= 0.0:
        return 0.0, 1.0
    total = 0.0
    for lag in range(1, LJUNG_BOX_LAGS + 1):
        rho = _ordered(centred[lag:] * centred[:-lag]) / variance
        total += rho * rho / (n - lag)
    statistic = n * (n + 2.0) * total
    return statistic, chi_square_tail(statistic, max(1, LJUNG_BOX_LAGS - n_fitted))


def jarque_bera(residuals: Floats) -> tuple[float, float, float, float]:
    """Skewness and kurtosis above that of the normal, N/6 (skewness² + kurtosis²/4), and its p-value."""
    values = residuals[~np.isnan(residuals)]
    n = len(values)
    if n < 3:
        return 0.0, 0.0, 0.0, 1.0
    centred = values - _ordered(values) / n
    variance = _ordered(centred**2) / n
    if variance <= 0.0:
        return 0.0, 0.0, 0.0, 1.0
    skewness = _ordered(centred**3) / n / variance**1.5
    kurtosis = _ordered(centred**4) / n / variance**2 - 3.0
    statistic = n / 6.0 * (skewness * skewness + kurtosis * kurtosis / 4.0)
    return skewness, kurtosis, statistic, chi_square_tail(statistic, 2)


def _ordered(values: Floats) -> float:
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
