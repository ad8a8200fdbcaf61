"""What a fitted model leaves unexplained of the history."""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS, CentredSeries

__all__ = ["residuals"]


def residuals(series: CentredSeries, phi: Floats, psi: Floats, annual_std: Floats) -> Floats:
    """e = z - Σ φ_l z_l - ψ A (hydros, occurrences), z standardised inflows; NaN where a lag that counts is unknown.

    ``phi`` (hydros, seasons, P), ``psi`` and ``annual_std`` (hydros, seasons). A is the mean of the twelve centred
    inflows before, divided by the deviation of annual means, as in the inflow equation of a study. A season
    without deviation has z = 0.
    """
    n_years = series.centred.shape[1] // max(series.std.shape[1], 1)

    def of_each(values: Floats) -> Floats:
        return np.tile(values, (1, n_years))

    def standardised(of: CentredSeries) -> Floats:
        std = of_each(of.std)
        return np.divide(of.centred, std, out=np.zeros_like(of.centred), where=std > 0.0)

    share = np.divide(psi, annual_std, out=np.zeros_like(psi), where=annual_std > 0.0)
    result, is_known = standardised(series), series.is_known.copy()
    for lag in range(1, phi.shape[2] + 1):
        coefficient, before = of_each(phi[:, :, lag - 1]), series.back(lag)
        result = result - coefficient * standardised(before)
        is_known &= before.is_known | (coefficient == 0.0)
    if share.any():
        total = np.zeros_like(result)
        for lag in range(1, ANNUAL_SEASONS + 1):
            before = series.back(lag)
            total = total + before.centred
            is_known &= before.is_known | (of_each(share) == 0.0)
        result = result - of_each(share) * (total / ANNUAL_SEASONS)
    return np.where(is_known, result, np.nan)
