"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["duration", "money", "percent"]


def money(value: float) -> str:
    """With thousands apart, and cents.

    >>> money(2605944.586), money(-0.5)
    ('2,605,944.59', '-0.50')
    """
    return f"{value:,.2f}" if abs(value) < 1e15 else f"{value:.6e}"


def percent(share: float) -> str:
    """Two decimals, or powers of ten where that shows nothing.

    >>> percent(0.0312), percent(0.0), percent(-3e-9)
    ('3.12%', '0.00%', '-3e-07%')
    """
    value = 100.0 * share
    return f"{value:.2f}%" if value == 0.0 or abs(value) >= 0.005 else f"{value:.0e}%"


def duration(seconds: float) -> str:
    """Short, in the unit that fits.

    >>> duration(0.35), duration(75), duration(7322)
    ('0.4 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
