"""Formats numbers for people."""

from __future__ import annotations

from cobre.core.wording import ROUNDING, duration, percent

__all__ = ["ROUNDING", "duration", "money", "percent"]


def money(value: float) -> str:
    """With thousands apart, and cents.

    >>> money(2605944.586), money(-0.5)
    ('2,605,944.59', '-0.50')
    """
    return f"{value:,.2f}" if abs(value) < 1e15 else f"{value:.6e}"
