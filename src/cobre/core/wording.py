"""How messages write lists, times and shares."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ROUNDING", "duration", "listed", "percent"]


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Up to ``limit`` values and how many more there are.

    >>> listed(range(5), 3)
    '0, 1, 2 and 2 more'
    """
    every = [str(value) for value in values]
    text = ", ".join(every[:limit])
    return f"{text} and {len(every) - limit} more" if len(every) > limit else text


def duration(seconds: float) -> str:
    """Short, in the unit that fits.

    >>> duration(0.36), duration(75), duration(7322)
    ('0.4 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


ROUNDING = 1e-9
"""Relative difference that is rounding noise of the solver, and is not shown."""


def percent(share: float) -> str:
    """Two decimals, or powers of ten where that shows nothing; rounding noise is 0.

    >>> percent(0.0312), percent(3e-16), percent(-3e-8)
    ('3.12%', '0.00%', '-3e-06%')
    """
    value = 0.0 if abs(share) <= ROUNDING else 100.0 * share
    return f"{value:.2f}%" if value == 0.0 or abs(value) >= 0.005 else f"{value:.0e}%"
