"""Mean and standard deviation of every plant and season, and what kind of series it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import sum_in_order

__all__ = ["SeasonKind", "SeasonStatistics", "moments", "season_statistics"]

CONSTANT_TOLERANCE = 1e-6
MANY_NEGATIVE_SHARE = 0.1
SATURATED_SHARE = 0.5


class SeasonKind(IntEnum):
    """What the observations of one plant and season look like."""

    ORDINARY = 0
    CONSTANT = 1
    """All the same: deviation 0."""
    MANY_NEGATIVE = 2
    """More than a tenth below 0."""
    SATURATED = 3
    """More than half round to one whole number, which stands for all: deviation 0."""


@dataclass(frozen=True, eq=False)
class SeasonStatistics:
    """All arrays are (hydros, seasons). The deviation divides by N, not by N - 1."""

    mean_m3s: Floats
    std_m3s: Floats
    count: NDArray[np.int64]
    kind: NDArray[np.int64]


def season_statistics(values: Floats) -> SeasonStatistics:
    """The statistics of observations (hydros, years, seasons), NaN where there is none."""
    count, mean, std = moments(values)
    kind = np.zeros(count.shape, dtype=np.int64)
    for h, s in np.ndindex(count.shape):
        kind[h, s], value = classify(values[h, ~np.isnan(values[h, :, s]), s])
        if kind[h, s] in (SeasonKind.CONSTANT, SeasonKind.SATURATED):
            mean[h, s], std[h, s] = value, 0.0
    return SeasonStatistics(mean, std, count, kind)


def moments(values: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Count, mean and deviation (hydros, seasons) of values (hydros, years, seasons), NaN where there is none."""
    is_there = ~np.isnan(values)
    count: NDArray[np.int64] = is_there.sum(axis=1)
    known, n = np.where(is_there, values, 0.0), np.maximum(count, 1)
    mean = sum_in_order(known, 1) / n
    difference = np.where(is_there, known - mean[:, np.newaxis], 0.0)
    return count, mean, np.sqrt(sum_in_order(difference * difference, 1) / n)


def classify(values: Floats) -> tuple[SeasonKind, float]:
    """The kind of a series, and the value that stands for a constant or saturated one.

    >>> classify(np.array([4.0, 4.0, 4.0]))
    (<SeasonKind.CONSTANT: 1>, 4.0)
    """
    n = len(values)
    first = float(values[0]) if n else 0.0
    if np.all(np.abs(values - first) < CONSTANT_TOLERANCE):
        return SeasonKind.CONSTANT, first
    if np.count_nonzero(values < 0.0) > MANY_NEGATIVE_SHARE * n:
        return SeasonKind.MANY_NEGATIVE, 0.0
    rounded = np.trunc(values + np.copysign(0.5, values))
    middle = float(np.sort(rounded)[n // 2])  # a value that more than half have is there
    if np.count_nonzero(rounded == middle) > SATURATED_SHARE * n:
        return SeasonKind.SATURATED, middle + 0.0
    return SeasonKind.ORDINARY, 0.0
