"""Distinct values of an array, without `numpy.unique`, which imports all of `numpy.ma`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["distinct"]


def distinct(values: NDArray[Any]) -> list[Any]:
    """Each value once, in ascending order, as plain Python values.

    >>> import numpy as np
    >>> distinct(np.array([3, 1, 3]))
    [1, 3]
    """
    return sorted(set(values.tolist()))
