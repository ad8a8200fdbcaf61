"""Estimates how long training will take; iterations take longer as cuts accumulate, and so does the estimate."""

from __future__ import annotations

import math

__all__ = ["RemainingTime"]


class RemainingTime:
    """A straight line through the durations of the newer half of the iterations, drawn on to the last one."""

    def __init__(self) -> None:
        self._durations: list[float] = []

    def learn(self, seconds: float) -> None:
        """Note how long the next iteration took."""
        self._durations.append(seconds)

    def until(self, limit: int) -> float:
        """Seconds until iteration ``limit`` is done."""
        done = len(self._durations)
        newer = self._durations[done // 2 :]
        centre = sum(newer) / len(newer)
        middle = done - (len(newer) - 1) / 2
        slope = max(0.0, _slope(newer))
        next_middle = (done + 1 + limit) / 2
        return max(0, limit - done) * (centre + slope * (next_middle - middle))


def _slope(values: list[float]) -> float:
    """Of the line with the least squares through values at 0, 1, 2, …, less its standard error.

    A few noisy values say little about growth, and drawn on to the last iteration a little is a lot.
    """
    n = len(values)
    if n < 3:
        return 0.0
    middle, mean = (n - 1) / 2, sum(values) / n
    spread = sum((k - middle) ** 2 for k in range(n))
    slope = sum((k - middle) * value for k, value in enumerate(values)) / spread
    missed = sum((value - mean - slope * (k - middle)) ** 2 for k, value in enumerate(values))
    return slope - math.sqrt(missed / (n - 2) / spread)
