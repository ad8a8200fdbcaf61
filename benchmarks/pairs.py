"""Two ways of doing the same, in turns: what one costs more than the other, and how sure that is.

Samples come in the order one, other, other, one, so that whatever drifts hits both alike; each such four is one
pair. Medians with an interval that makes no assumption about the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Sample = Callable[[], float]


class Estimate(NamedTuple):
    """A median, and the interval that holds the true one in 95 of 100 measurements."""

    median: float
    low: float
    high: float


def take_pairs(one: Sample, other: Sample, number: int) -> Any:
    """An array of ``number`` rows: what each of the four samples took."""
    rows = np.empty((number, 4))
    for row in rows:
        row[:] = one(), other(), other(), one()
    return rows


def medians(rows: Any) -> tuple[float, float]:
    """Of either."""
    return float(np.median(rows[:, [0, 3]])), float(np.median(rows[:, [1, 2]]))


def difference(rows: Any) -> Estimate:
    """What the other takes more."""
    return estimate((rows[:, 1] + rows[:, 2] - rows[:, 0] - rows[:, 3]) / 2)


def ratio_in_percent(rows: Any) -> Estimate:
    """What the other takes, of what the one takes. Geometric: neither side is favoured."""
    logarithms = np.log(rows[:, 1] * rows[:, 2] / (rows[:, 0] * rows[:, 3])) / 2
    return Estimate(*(100 * math.exp(value) for value in estimate(logarithms)))


def estimate(values: Any) -> Estimate:
    """The median; its interval lies between two of the sorted values, by the binomial distribution."""
    ordered = np.sort(values)
    number = len(ordered)
    reach = 1.96 * math.sqrt(number) / 2
    low, high = max(math.floor(number / 2 - reach), 0), min(math.ceil(number / 2 + reach), number - 1)
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))
