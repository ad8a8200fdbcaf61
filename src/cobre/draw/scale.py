"""A range of values and round numbers in it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from cobre.draw.figures import short_number

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
OVERHANG = 0.05
"""Of a step, less than two pixels: values may lie so far beyond the last tick, and no whole step is opened for them."""

LONGEST_TEXT = 9
"""Characters of a tick: what fits beside a drawing."""


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high``; ``ticks`` are round and lie within."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Iterable[float], *, includes_zero: bool = False, n_ticks: int = 5) -> Self | None:
        """A range of whole steps around all finite values, which may overhang by `OVERHANG`; None without any."""
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return None
        low, high = min(finite), max(finite)
        if includes_zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            margin = abs(high) / 2 or 1.0
            low, high = (low - margin, high + margin) if low or high else (0.0, 1.0)
        step = _step((high - low) / n_ticks)
        first, last = math.floor(low / step + OVERHANG), math.ceil(high / step - OVERHANG)
        ticks = tuple(k * step for k in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def share(self, value: float) -> float:
        """Where ``value`` lies: 0 at ``low``, 1 at ``high``."""
        return (value - self.low) / (self.high - self.low)

    def texts(self) -> tuple[list[str], str]:
        """The ticks as text, with as many digits as tell them apart.

        Where that is too much for an axis, they count from the lowest tick, and the second text is that one.
        """
        found = [short_number(tick + 0.0) for tick in self.ticks]
        if len(set(found)) == len(found):
            return found, ""
        step = self.ticks[1] - self.ticks[0]
        digits = max(0, -math.floor(math.log10(step)) + 1)
        exact = [f"{tick:,.{digits}f}" for tick in self.ticks]
        if max(map(len, exact)) <= LONGEST_TEXT:
            return exact, ""
        return [short_number(k * step) for k in range(len(self.ticks))], exact[0]


def _step(width: float) -> float:
    size = 10.0 ** math.floor(math.log10(width))
    return next(size * step for step in STEPS if size * step >= width * (1 - 1e-9))
