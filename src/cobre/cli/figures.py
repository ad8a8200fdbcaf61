"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["ROUNDING", "duration", "money", "percent"]


def money(value: float) -> str:
    """With thousands apart, and cents.

    >>> money(2605944.586), money(-0.5)
    ('2,605,944.59', '-0.50')
    """
    return f"{value:,.2f}" if abs(value) < 1e15 else f"{value:.6e}"


ROUNDING = 1e-9
"""Relative difference that is rounding noise of the solver: nothing to show anybody."""


def percent(share: float) -> str:
    """Two decimals, or powers of ten where that shows nothing; rounding noise is 0.

    >>> percent(0.0312), percent(3e-16), percent(-3e-8)
    ('3.12%', '0.00%', '-3e-06%')
    """
    value = 0.0 if abs(share) <= ROUNDING else 100.0 * share
    return f"{value:.2f}%" if value == 0.0 or abs(value) >= 0.005 else f"{value:.0e}%"


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
