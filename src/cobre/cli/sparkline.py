"""A row of numbers drawn as blocks, the taller the higher."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.cli.figures import ROUNDING

__all__ = ["sparkline"]

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 40


def sparkline(
    values: Sequence[float], low: float | None = None, high: float | None = None, width: int = WIDTH
) -> str:
    """At most ``width`` blocks, and no more than `WIDTH`, between ``low`` and ``high``.

    By default these are the least and the greatest value.

    Values that differ by rounding noise are as tall as each other.

    >>> sparkline([1.0, 2.0, 3.0]), sparkline([5.0, 5.0 + 1e-12])
    ('▁▅█', '▁▁')
    """
    smooth = [values[0]]
    for value in values[1:]:
        is_noise = abs(value - smooth[-1]) <= ROUNDING * max(1.0, abs(value))
        smooth.append(smooth[-1] if is_noise else value)
    bottom = min(smooth) if low is None else low
    top = max(smooth) if high is None else high
    count = max(1, min(len(smooth), WIDTH, width))
    picked = [smooth[i * (len(smooth) - 1) // max(1, count - 1)] for i in range(count)]
    return "".join(_block(value, bottom, top) for value in picked)


def _block(value: float, low: float, high: float) -> str:
    if high <= low:
        return BLOCKS[1]
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return BLOCKS[1 + round((len(BLOCKS) - 2) * share)]
