"""How messages list things."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed"]


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Up to ``limit`` values and how many more there are.

    >>> listed(range(5), 3)
    '0, 1, 2 and 2 more'
    """
    every = [str(value) for value in values]
    text = ", ".join(every[:limit])
    return f"{text} and {len(every) - limit} more" if len(every) > limit else text
