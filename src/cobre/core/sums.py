"""Sums whose bits do not depend on the machine."""

from __future__ import annotations

from collections.abc import Iterable


def sum_in_order(values: Iterable[float]) -> float:
    """The sum of ``values``, added one after the other.

    Not the built-in ``sum``: newer Pythons compensate its rounding. Not ``numpy.sum``: it adds in pairs.
    """
    total = 0.0
    for value in values:
        total += value
    return total
