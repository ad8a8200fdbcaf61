"""Correlation of the residuals of plants: one matrix for all seasons, and one for each with enough data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre._native import fitting, noise
from cobre.arrays import Floats
from cobre.stochastic.fitting.arithmetic import matrix_product

__all__ = ["FEWEST_COMMON", "NEGATIVE_TOLERANCE", "Repaired", "correlation_matrix", "repaired"]

FEWEST_COMMON = 30
"""Dates that every pair must share before a season gets a matrix of its own."""
NEGATIVE_TOLERANCE = 1e-8
"""Eigenvalues down to minus this are rounding."""


def correlation_matrix(residuals: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Pearson correlations of residuals (hydros, dates), NaN where there is none, and how many dates each pair has.

    Summed in order of dates. 0 with fewer than two common dates or where one does not vary; 1 on the diagonal.
    """
    n = len(residuals)
    matrix, common = np.empty((n, n)), np.empty((n, n), dtype=np.int64)
    fitting.pearson(np.ascontiguousarray(residuals), matrix, common)
    return matrix, common


@dataclass(frozen=True, eq=False)
class Repaired:
    """A correlation matrix that noises can have; ``smallest_eigenvalue`` of the one before, None if it was one."""

    matrix: Floats
    smallest_eigenvalue: float | None = None


def repaired(matrix: Floats) -> Repaired:
    """The matrix, or where it has a clearly negative eigenvalue the nearby one without.

    Correlations over different dates for each pair may contradict each other. Negative eigenvalues become 0, and rows
    and columns are scaled back to a diagonal of 1.
    """
    if _is_semidefinite(matrix):
        return Repaired(matrix)
    root = np.empty_like(matrix)
    smallest = noise.square_root(np.ascontiguousarray(matrix), root)
    clipped = matrix_product(root, root)
    scale = np.sqrt(np.diagonal(clipped))
    mended = np.clip(clipped / (scale[:, np.newaxis] * scale), -1.0, 1.0)
    mended = np.tril(mended) + np.tril(mended, -1).T
    np.fill_diagonal(mended, 1.0)
    return Repaired(mended, smallest)


def _is_semidefinite(matrix: Floats) -> bool:
    """Whether no eigenvalue is below the tolerance: elimination of the shifted matrix meets positive pivots only."""
    work = matrix.copy()
    work[np.diag_indices(len(work))] += NEGATIVE_TOLERANCE
    for k in range(len(work)):
        pivot = work[k, k]
        if pivot <= 0.0:
            return False
        rest = work[k + 1 :, k] / pivot
        work[k + 1 :, k + 1 :] -= rest[:, np.newaxis] * work[k, k + 1 :]
    return True
