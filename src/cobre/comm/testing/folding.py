"""The result that allreduce must give, bit for bit, computed by NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fold"]


def fold(parts: Sequence[NDArray[Any]], op: str) -> NDArray[Any]:
    """``parts`` folded with ``op``, the first one first."""
    total = parts[0].copy()
    for part in parts[1:]:
        total = add(total, part) if op == "sum" else pick(total, part, op)
    return total


def add(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Elementwise sum in the dtype: "or" for bool, wrapping for integers, rounded once for floats.

    A NaN operand is the result, the left one first: which payload an addition of two NaNs keeps is up to the
    compiler that ordered the operands, so it cannot be left to NumPy.
    """
    if left.dtype.kind == "c":
        real = np.dtype(f"f{left.dtype.itemsize // 2}")
        return add(left.view(real), right.view(real)).view(left.dtype)
    with np.errstate(all="ignore"):
        total: NDArray[Any] = left + right
    if left.dtype.kind != "f":
        return total
    return np.where(np.isnan(left), left, np.where(np.isnan(right), right, total))


def pick(left: NDArray[Any], right: NDArray[Any], op: str) -> NDArray[Any]:
    """Elementwise minimum or maximum: a tie keeps ``left``, the first NaN sticks."""
    with np.errstate(invalid="ignore"):
        better = right < left if op == "min" else right > left
    if left.dtype.kind == "f":
        better |= np.isnan(right) & ~np.isnan(left)
    return np.where(better, right, left)
