"""Height of the water below a plant as a function of its outflow (turbined plus spilled)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cobre.production.curve import Curve


class Tailrace(Protocol):
    """Anything that gives a height for an outflow. Tailraces are immutable and can be hashed."""

    def height(self, outflow_m3s: float) -> float:
        """Height in m at the outflow."""
        ...


@dataclass(frozen=True, slots=True)
class PolynomialTailrace:
    """``c0 + c1 q + c2 q^2 + ...``; no coefficient means height 0."""

    coefficients: tuple[float, ...] = ()

    def height(self, outflow_m3s: float) -> float:
        return polynomial(self.coefficients, outflow_m3s)


@dataclass(frozen=True, slots=True)
class PiecewiseTailrace:
    """Linear between points, constant beyond them."""

    points: Curve

    def height(self, outflow_m3s: float) -> float:
        return self.points.at(outflow_m3s)


@dataclass(frozen=True, slots=True)
class Segment:
    """A polynomial that holds from ``low`` to ``high`` m3/s of outflow."""

    low: float
    high: float
    coefficients: tuple[float, ...]

    def height(self, outflow_m3s: float) -> float:
        return polynomial(self.coefficients, outflow_m3s)


@dataclass(frozen=True, slots=True)
class TailraceFamily:
    """Segments in order of outflow that hold for one level of the reservoir below (None: not given)."""

    level_m: float | None
    segments: tuple[Segment, ...]

    def height(self, outflow_m3s: float) -> float:
        """Height at the outflow, which is first moved into the range of the segments."""
        inside = min(max(outflow_m3s, self.segments[0].low), self.segments[-1].high)
        holding = [segment for segment in self.segments if segment.low <= inside]
        return holding[-1].height(inside)


@dataclass(frozen=True, slots=True)
class BackwaterTailrace:
    """Families by the level of the reservoir below: linear between two of them, constant beyond the outer ones."""

    families: tuple[TailraceFamily, ...]
    """In order of level; a family without level comes first."""
    level_m: float | None
    """Level of the reservoir below; None takes the lowest family."""

    def height(self, outflow_m3s: float) -> float:
        first, last = self.families[0], self.families[-1]
        if self.level_m is None or len(self.families) == 1 or self.level_m <= _level(first):
            return first.height(outflow_m3s)
        if self.level_m >= _level(last):
            return last.height(outflow_m3s)
        above = next(k for k, family in enumerate(self.families) if _level(family) > self.level_m)
        lower, upper = self.families[above - 1], self.families[above]
        share = (self.level_m - _level(lower)) / (_level(upper) - _level(lower))
        base = lower.height(outflow_m3s)
        return base + share * (upper.height(outflow_m3s) - base)


def _level(family: TailraceFamily) -> float:
    return float("-inf") if family.level_m is None else family.level_m


def polynomial(coefficients: tuple[float, ...], x: float) -> float:
    """``c0 + c1 x + c2 x^2 + ...`` by Horner's rule."""
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total
