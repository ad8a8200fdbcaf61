"""What a series of inflows looks like: by season, and over the years. Unknown occurrences are NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.stochastic.fitting.arithmetic import sum_in_order
from cobre.stochastic.fitting.autocorrelation import CentredSeries, correlations
from cobre.stochastic.fitting.history import HOURS_PER_DAY
from cobre.stochastic.fitting.statistics import moments

__all__ = ["SEASON_MEASURES", "YEAR_MEASURES", "Droughts", "droughts", "season_measures", "year_deviation"]

SEASON_MEASURES = ("mean", "deviation", "skewness", "autocorrelation")
"""The last is that with the season before."""

YEAR_MEASURES = ("longest_drought", "largest_deficit_hm3", "annual_deviation")


def season_measures(values: Floats, n_seasons: int) -> Floats:
    """`SEASON_MEASURES` (4, series, seasons) of series (series, occurrences)."""
    by_season = values.reshape(len(values), -1, n_seasons)
    count, mean, std = moments(by_season)
    is_known = ~np.isnan(by_season)
    cubes = np.where(is_known, np.nan_to_num(by_season - mean[:, np.newaxis]) ** 3, 0.0)
    third = sum_in_order(cubes, 1) / np.maximum(count, 1)
    skewness = np.divide(third, std**3, out=np.zeros_like(std), where=std > 0.0)
    series = CentredSeries.of(values, mean, std)
    return np.stack([mean, std, skewness, correlations(series, series.back(1))])


@dataclass(frozen=True, eq=False)
class Droughts:
    """Per series: the longest run of occurrences below their means, and the most water that a run lacked."""

    longest: Floats
    deficit_hm3: Floats


def droughts(values: Floats, mean: Floats, days: NDArray[np.int64]) -> Droughts:
    """Of series (series, occurrences), means (series, seasons) and days per occurrence; an unknown one ends a run."""
    n_series, n = values.shape
    run, longest, lacking, worst = (np.zeros(n_series) for _ in range(4))
    for t in range(n):
        short = mean[:, t % mean.shape[1]] - values[:, t]
        is_below = short > 0.0  # False for NaN
        run = np.where(is_below, run + 1.0, 0.0)
        volume = np.where(is_below, short, 0.0) * (HM3_PER_M3S_HOUR * HOURS_PER_DAY * float(days[t]))
        lacking = np.where(is_below, lacking + volume, 0.0)
        longest, worst = np.maximum(longest, run), np.maximum(worst, lacking)
    return Droughts(longest, worst)


def year_deviation(values: Floats, n_seasons: int) -> Floats:
    """The standard deviation of yearly means (series), over the years that are wholly known."""
    by_year = values.reshape(len(values), -1, n_seasons)
    means = sum_in_order(by_year, 2) / n_seasons
    return moments(means[:, :, np.newaxis])[2][:, 0]
