"""An LP and what each solve of it may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class PatchTarget(IntEnum):
    """Which number of the LP a patch sets."""

    ROW_EQUAL = 0
    ROW_LOWER = 1
    ROW_UPPER = 2
    COLUMN_LOWER = 3
    COLUMN_UPPER = 4
    COLUMN_COST = 5


@dataclass(frozen=True)
class Patches:
    """``value = offset + factor * p[source]``; several entries of one target and index add up."""

    target: NDArray[np.int32]
    index: NDArray[np.int32]
    source: NDArray[np.int32]
    offset: NDArray[np.float64]
    factor: NDArray[np.float64]


@dataclass(frozen=True)
class LpTemplate:
    """``min c.x``, ``row_lower <= A x <= row_upper``, column bounds; the matrix is in CSR form."""

    column_cost: NDArray[np.float64]
    column_lower: NDArray[np.float64]
    column_upper: NDArray[np.float64]
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    row_starts: NDArray[np.int32]
    column_indices: NDArray[np.int32]
    values: NDArray[np.float64]
    patches: Patches
    cut_columns: NDArray[np.int32]
    future_cost_column: int
    observed_columns: NDArray[np.int32]
    observed_rows: NDArray[np.int32]
    column_names: Callable[[], list[str]]
    row_names: Callable[[], list[str]]
