"""Sums, matrix products and linear systems whose rounding never depends on the machine.

NumPy's own sums, products and solvers choose their order of operations by array size, processor and library. The
functions here add in index order, so a fit gives the same bits everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre._native import fitting
from cobre.arrays import Floats

__all__ = ["EPSILON", "matrix_product", "solve", "sum_in_order"]

EPSILON = 2.0**-52
"""Deviations and pivots below this count as zero."""


def sum_in_order(values: Floats, axis: int) -> Floats:
    """The sum along ``axis``, first element first; 0 where the axis is empty."""
    if values.shape[axis] == 0:
        return np.zeros(np.delete(values.shape, axis))
    total: Floats = np.add.accumulate(values, axis=axis).take(-1, axis=axis)
    return total


def matrix_product(left: Floats, right: Floats) -> Floats:
    """Products of stacks of matrices (..., n, k) and (..., k, m), summed over k in order."""
    total: Floats = left[..., :, :1] * right[..., :1, :]
    for k in range(1, left.shape[-1]):
        total = total + left[..., :, k : k + 1] * right[..., k : k + 1, :]
    return total


def solve(matrices: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Solve stacks of linear systems (n, k, k) with right sides (n, k, m) by Gaussian elimination.

    The pivot of a column is its largest entry, the first of several equal ones. Gives the solutions (n, k, m) and
    which systems are singular, that is have a pivot below `EPSILON`; their solutions mean nothing.
    """
    # Copies in any case: the core works in place.
    a, b = np.array(matrices, order="C"), np.array(right, order="C")
    is_singular = np.zeros(len(a), dtype=np.uint8)
    fitting.solve(a, b, is_singular)
    return b, is_singular.astype(bool)
