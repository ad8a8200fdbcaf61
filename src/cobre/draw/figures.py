"""Numbers as text."""

from __future__ import annotations

import math

MISSING = "–"


def number(value: float | int | None) -> str:
    """Six significant digits, thousands apart; a dash where there is no value.

    >>> number(1234567.0), number(0.00012345), number(float("nan")), number(7), number(-0.0)
    ('1,234,570', '0.00012345', '–', '7', '0')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if not 1e-4 <= size < 1e15:
        return f"{value:.5e}"
    digits = 5 - math.floor(math.log10(size))
    if digits <= 0:
        return f"{round(value, digits):,.0f}"
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".")


def short_number(value: float) -> str:
    """Four significant digits with a unit of thousands, for cards and axes.

    >>> short_number(2605944.6), short_number(0.5), short_number(-1500.0), short_number(float("nan"))
    ('2.606 M', '0.5', '-1,500', '–')
    """
    if not math.isfinite(value):
        return MISSING
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}" if abs(value) < 1e16 else f"{value:.3e}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def pixels(value: float) -> str:
    """A coordinate to a tenth of a pixel.

    >>> pixels(12.04), pixels(3.25), pixels(-0.01)
    ('12', '3.2', '0')
    """
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text
