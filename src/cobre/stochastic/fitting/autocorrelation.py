"""Periodic correlations: correlations of a season with the ones before it, and with the mean of the year before.

Everything runs over series (hydros, occurrences) in order of time, so lag k pairs an occurrence with the one k numbers
before it, by calendar, also where observations are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import EPSILON, sum_in_order
from cobre.stochastic.fitting.statistics import moments

__all__ = ["ANNUAL_SEASONS", "AnnualMeans", "CentredSeries", "annual_means", "correlations"]

Number = TypeVar("Number", np.float64, np.bool_)

ANNUAL_SEASONS = 12


@dataclass(frozen=True, eq=False)
class CentredSeries:
    """A series with the mean of each season taken off: ``centred`` (hydros, occurrences), 0 where nothing is known.

    ``std`` and ``count`` are (hydros, seasons); the season of an occurrence is its index modulo the number of seasons.
    """

    centred: Floats
    is_known: NDArray[np.bool_]
    std: Floats
    count: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, mean: Floats, std: Floats) -> CentredSeries:
        """From values (hydros, occurrences), NaN where there is none, and statistics (hydros, seasons)."""
        is_known = ~np.isnan(values)
        by_season = values.reshape(len(values), -1, mean.shape[1])
        centred = np.nan_to_num(by_season - mean[:, np.newaxis]).reshape(values.shape)
        return cls(centred, is_known, std, is_known.reshape(by_season.shape).sum(axis=1))

    def back(self, k: int) -> CentredSeries:
        """The series as it was k occurrences before (negative k: after); unknown beyond its ends."""
        return CentredSeries(
            _shifted(self.centred, k, 0.0),
            _shifted(self.is_known, k, False),
            np.roll(self.std, k, axis=1),
            np.roll(self.count, k, axis=1),
        )


def _shifted(values: NDArray[Number], k: int, blank: float) -> NDArray[Number]:
    result = np.full_like(values, blank)
    n = values.shape[1]
    if k >= 0:
        result[:, min(k, n) :] = values[:, : max(n - k, 0)]
    else:
        result[:, :k] = values[:, -k:]
    return result


def correlations(first: CentredSeries, second: CentredSeries, *, per_pair: bool = True) -> Floats:
    """Correlation (hydros, seasons of ``first``) of two series of equal length, each with its own statistics.

    Products are summed year after year and divided by the number of pairs; without ``per_pair`` by the larger number
    of observations of the two seasons. Kept within -1 and 1; 0 without pairs or where a deviation is 0.
    """
    shape = (len(first.std), -1, first.std.shape[1])
    both = first.is_known & second.is_known
    products = np.where(both, first.centred * second.centred, 0.0)
    total = sum_in_order(products.reshape(shape), 1)
    pairs = both.reshape(shape).sum(axis=1)
    divisor = pairs if per_pair else np.maximum(first.count, second.count)
    is_defined = (pairs > 0) & (first.std >= EPSILON) & (second.std >= EPSILON)
    covariance = np.divide(total, divisor, out=np.zeros_like(total), where=is_defined)
    value = np.divide(covariance, first.std * second.std, out=np.zeros_like(total), where=is_defined)
    return np.clip(value, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class AnnualMeans:
    """Means of twelve consecutive occurrences, filed under the last of them; statistics are (hydros, seasons)."""

    series: CentredSeries
    mean_m3s: Floats
    std_m3s: Floats

    @classmethod
    def of(cls, means: Floats, n_seasons: int) -> AnnualMeans:
        """From means (hydros, occurrences), NaN where there is none."""
        _, mean, std = moments(means.reshape(len(means), -1, n_seasons))
        return cls(CentredSeries.of(means, mean, std), mean, std)


def annual_means(inflows: Floats, n_seasons: int) -> AnnualMeans:
    """From inflows (hydros, occurrences). The mean that ends with a hydro's last observation is left out.

    It has no occurrence after it to explain.
    """
    total = np.zeros_like(inflows)
    for back in range(ANNUAL_SEASONS - 1, -1, -1):  # the oldest first
        total = total + _shifted(inflows, back, np.nan)
    means = total / ANNUAL_SEASONS
    for h in range(len(inflows)):
        known = np.flatnonzero(~np.isnan(inflows[h]))
        if len(known):
            means[h, known[-1] :] = np.nan
    return AnnualMeans.of(means, n_seasons)
