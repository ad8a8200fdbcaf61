"""`LpTemplate`: a linear program that is solved many times, and `Patches`: what changes from one solve to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.arrays import Floats

__all__ = ["LpTemplate", "Patches", "Target"]

Ints = NDArray[np.int32]
Names = Sequence[str] | Callable[[int], str] | None


class Target(IntEnum):
    """The number in the program that a patch sets."""

    ROW_EQUAL = 0
    """Both bounds of a row."""
    ROW_LOWER = 1
    ROW_UPPER = 2
    COLUMN_LOWER = 3
    COLUMN_UPPER = 4
    COLUMN_COST = 5


@dataclass(frozen=True)
class Patches:
    """How the parameters ``p`` of one solve become numbers of the program.

    Patch ``k`` contributes ``offset[k] + factor[k] * p[source[k]]`` to the number that ``target[k]`` and ``index[k]``
    name. A number with several patches is their sum, taken in the order of the arrays; a number with none keeps the
    template's value. Many patches may read one parameter.
    """

    n_parameters: int
    target: NDArray[np.uint8]
    index: Ints
    source: Ints
    offset: Floats
    factor: Floats

    @classmethod
    def none(cls) -> Patches:
        """A program that never changes; a batch's parameters then have the shape ``(n, 0)``."""
        return cls.of(0, ())

    @classmethod
    def of(cls, n_parameters: int, rows: Iterable[tuple[Target, int, int, float, float]]) -> Patches:
        """The same from rows of ``(target, index, source, offset, factor)``."""
        rows = list(rows)
        return cls(
            n_parameters,
            np.array([int(row[0]) for row in rows], np.uint8),
            np.array([row[1] for row in rows], np.int32),
            np.array([row[2] for row in rows], np.int32),
            np.array([row[3] for row in rows], np.float64),
            np.array([row[4] for row in rows], np.float64),
        )


@dataclass(frozen=True)
class LpTemplate:
    """``min c x`` with ``row_lower <= A x <= row_upper`` and ``column_lower <= x <= column_upper``.

    Everything is in the caller's units; scaling happens inside. ``A`` is in compressed sparse rows. Bounds may be
    infinite. Cuts are rows that come later: ``x[future_cost_column] - sum_j c_j x[cut_columns[j]] >= intercept``.
    """

    column_cost: Floats
    column_lower: Floats
    column_upper: Floats
    row_lower: Floats
    row_upper: Floats
    row_starts: Ints
    column_indices: Ints
    values: Floats
    patches: Patches = field(default_factory=Patches.none)
    cut_columns: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    future_cost_column: int = -1
    observed_columns: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    """Columns whose values every solve returns."""
    observed_rows: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    """Rows whose duals every solve returns."""
    column_names: Names = None
    row_names: Names = None

    def __post_init__(self) -> None:
        for name in ("column_cost", "column_lower", "column_upper", "row_lower", "row_upper", "values"):
            object.__setattr__(self, name, _vector(getattr(self, name), np.float64, name))
        for name in ("row_starts", "column_indices", "cut_columns", "observed_columns", "observed_rows"):
            object.__setattr__(self, name, _vector(getattr(self, name), np.int32, name))

    @property
    def n_columns(self) -> int:
        return len(self.column_cost)

    @property
    def n_rows(self) -> int:
        return len(self.row_lower)

    def column_name(self, column: int) -> str:
        """What messages and model files call it; ``x<column>`` without names."""
        return _name(self.column_names, column, "x")

    def row_name(self, row: int) -> str:
        """What messages and model files call it; ``r<row>`` without names."""
        return _name(self.row_names, row, "r")


def _vector(value: ArrayLike, dtype: type[np.float64] | type[np.int32], name: str) -> NDArray[np.generic]:
    array = np.asarray(value)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions\n  fix: give a one-dimensional array")
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} has the dtype {array.dtype}\n  fix: give {np.dtype(dtype).name}")
    return np.ascontiguousarray(array, dtype)


def _name(names: Names, index: int, prefix: str) -> str:
    if names is None:
        return f"{prefix}{index}"
    return names(index) if callable(names) else names[index]
