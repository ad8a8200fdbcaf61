"""Curves over the volume of a reservoir: height of the forebay and area of the lake."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from cobre.core.sums import sum_in_order


@dataclass(frozen=True, slots=True)
class Curve:
    """Linear between points, constant beyond them. ``xs`` grow strictly; one point is a constant."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]

    @property
    def first(self) -> float:
        return self.xs[0]

    @property
    def last(self) -> float:
        return self.xs[-1]

    def at(self, x: float) -> float:
        """The value at ``x``, exact at the points."""
        if len(self.xs) == 1:
            return self.ys[0]
        inside = self.clamp(x)
        k = self._segment(inside)
        share = (inside - self.xs[k]) / (self.xs[k + 1] - self.xs[k])
        return self.ys[k] + share * (self.ys[k + 1] - self.ys[k])

    def slope(self, x: float) -> float:
        """Slope of the segment that holds ``x``: at a point the segment to its right, at the last point the last."""
        if len(self.xs) == 1:
            return 0.0
        k = self._segment(x)
        return (self.ys[k + 1] - self.ys[k]) / (self.xs[k + 1] - self.xs[k])

    def mean(self, low: float, high: float) -> float:
        """Mean value between ``low`` and ``high``, both moved into the range of the points first."""
        low, high = self.clamp(low), self.clamp(high)
        if high <= low:
            return self.at(low)
        xs = [low, *(x for x in self.xs if low < x < high), high]
        areas = [0.5 * (self.at(a) + self.at(b)) * (b - a) for a, b in pairwise(xs)]
        return sum_in_order(areas) / (high - low)

    def clamp(self, x: float) -> float:
        """``x`` moved into the range of the points."""
        return min(max(x, self.first), self.last)

    def _segment(self, x: float) -> int:
        return min(max(bisect_right(self.xs, x) - 1, 0), len(self.xs) - 2)
