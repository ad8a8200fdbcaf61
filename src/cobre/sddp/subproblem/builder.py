"""Collects the columns, rows, coefficients and patches of one LP, and hands them over as a template.

Columns and rows are added as whole arrays of one kind, one axis per noun: ``("turbined", (hydros, blocks))``
gives a matrix of column numbers that later calls index like any other array. Names such as
``turbined[Itaipu,peak]`` are only written out on request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cobre.arrays import Floats, Indices
from cobre.sddp.subproblem.naming import Axis, NameGroup, Names
from cobre.solver import LpTemplate, Patches, Target

ABSENT = -1
"""Stands for a column or row that this stage does not have."""

INFINITY = np.inf


class _Lines:
    """The columns, or the rows, so far."""

    def __init__(self) -> None:
        self.count = 0
        self.groups: list[NameGroup] = []

    def add(self, kind: str, axes: tuple[Axis, ...], where: ArrayLike | None) -> Indices:
        shape = tuple(len(axis) for axis in axes)
        if where is None:
            indices = np.arange(self.count, self.count + int(np.prod(shape, dtype=np.int64))).reshape(shape)
            mask = None
            self.count += indices.size
        else:
            mask = np.empty(shape, dtype=np.bool_)
            mask[...] = where
            indices = np.full(shape, ABSENT, dtype=np.int64)
            n_present = int(np.count_nonzero(mask))
            indices[mask] = np.arange(self.count, self.count + n_present)
            self.count += n_present
        self.groups.append(NameGroup(kind, axes, mask))
        return indices


class LpBuilder:
    """An LP under construction. Numbers of columns and rows follow the order of the calls."""

    def __init__(self) -> None:
        self._columns = _Lines()
        self._rows = _Lines()
        self._cost: list[Floats] = []
        self._column_bounds: tuple[list[Floats], ...] = ([], [])
        self._row_bounds: tuple[list[Floats], ...] = ([], [])
        self._terms: tuple[list[NDArray[Any]], ...] = ([], [], [])
        self._patch_targets: list[tuple[Target, int]] = []
        self._patches: list[tuple[NDArray[Any], ...]] = []

    def add_columns(
        self,
        kind: str,
        *axes: Axis,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = INFINITY,
        cost: ArrayLike = 0.0,
        where: ArrayLike | None = None,
    ) -> Indices:
        """Column numbers, one per combination of the axes; ``ABSENT`` where ``where`` says no."""
        indices = self._columns.add(kind, axes, where)
        present = None if where is None else indices != ABSENT
        self._cost.append(_spread(cost, indices.shape, present))
        for store, bound in zip(self._column_bounds, (lower, upper), strict=True):
            store.append(_spread(bound, indices.shape, present))
        return indices

    def add_rows(
        self,
        kind: str,
        *axes: Axis,
        lower: ArrayLike = -INFINITY,
        upper: ArrayLike = INFINITY,
        where: ArrayLike | None = None,
    ) -> Indices:
        """Row numbers, like :meth:`add_columns`."""
        indices = self._rows.add(kind, axes, where)
        present = None if where is None else indices != ABSENT
        for store, bound in zip(self._row_bounds, (lower, upper), strict=True):
            store.append(_spread(bound, indices.shape, present))
        return indices

    def add_terms(self, rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        """Adds ``values * column`` to each row; the three are broadcast. What is absent is left out."""
        row = np.asarray(rows, dtype=np.int64)
        column = np.asarray(columns, dtype=np.int64)
        value = np.asarray(values, dtype=np.float64)
        present = (row != ABSENT) & (column != ABSENT) & (value != 0.0)
        if not present.any():
            return
        for store, part in zip(self._terms, (row, column, value), strict=True):
            store.append(_spread(part, present.shape, present, part.dtype))

    def patch(
        self,
        target: Target,
        indices: ArrayLike,
        parameters: ArrayLike,
        *,
        offset: ArrayLike = 0.0,
        factor: ArrayLike = 1.0,
    ) -> None:
        """Lets each solve set ``offset + factor * parameter``; further patches of one target add to it."""
        index, source, base, slope = np.broadcast_arrays(
            np.asarray(indices, dtype=np.int64),
            np.asarray(parameters, dtype=np.int64),
            np.asarray(offset, dtype=np.float64),
            np.asarray(factor, dtype=np.float64),
        )
        present = index != ABSENT
        self._patch_targets.append((target, int(np.count_nonzero(present))))
        self._patches.append((index[present], source[present], base[present], slope[present]))

    def least_cost(self) -> float:
        """The least that costs and column bounds alone allow, never above 0; minus infinity if unlimited."""
        cost, lower, upper = (_join(parts) for parts in (self._cost, *self._column_bounds))
        priced = cost != 0.0
        least = cost[priced] * np.where(cost < 0.0, upper, lower)[priced]
        # Exactly rounded, so that it does not depend on the order of the columns.
        return math.fsum(least[least < 0.0].tolist())

    def unlimited_earners(self) -> list[str]:
        """Names of the columns that make :meth:`least_cost` infinite."""
        cost, lower, upper = (_join(parts) for parts in (self._cost, *self._column_bounds))
        unlimited = ((cost < 0.0) & (upper == INFINITY)) | ((cost > 0.0) & (lower == -INFINITY))
        names = Names(self._columns.groups)
        return [names[column] for column in np.flatnonzero(unlimited).tolist()]

    def template(
        self,
        *,
        n_parameters: int,
        cut_columns: ArrayLike,
        future_cost_column: int,
        observed_columns: ArrayLike,
        observed_rows: ArrayLike,
    ) -> LpTemplate:
        """The LP as it is now, its matrix sorted by row and column."""
        starts, columns, values = self._matrix()
        return LpTemplate(
            column_cost=_join(self._cost),
            column_lower=_join(self._column_bounds[0]),
            column_upper=_join(self._column_bounds[1]),
            row_lower=_join(self._row_bounds[0]),
            row_upper=_join(self._row_bounds[1]),
            row_starts=starts,
            column_indices=columns,
            values=values,
            patches=self._joined_patches(n_parameters),
            cut_columns=np.asarray(cut_columns, dtype=np.int32),
            future_cost_column=future_cost_column,
            observed_columns=np.asarray(observed_columns, dtype=np.int32),
            observed_rows=np.asarray(observed_rows, dtype=np.int32),
            column_names=Names(self._columns.groups),
            row_names=Names(self._rows.groups),
        )

    def _matrix(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
        row, column, value = _join(self._terms[0]), _join(self._terms[1]), _join(self._terms[2])
        key = row.astype(np.int64) * self._columns.count + column.astype(np.int64)
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.ones(key.size, dtype=np.bool_)
        first[1:] = key[1:] != key[:-1]
        if not first.all():
            total = np.zeros(int(np.count_nonzero(first)))
            np.add.at(total, np.cumsum(first) - 1, value)  # one by one, in the order of the calls
            key, value = key[first], total
            key, value = key[value != 0.0], value[value != 0.0]
        rows, columns = np.divmod(key, max(1, self._columns.count))
        starts = np.searchsorted(rows, np.arange(self._rows.count + 1)).astype(np.int32)
        return starts, columns.astype(np.int32), value

    def _joined_patches(self, n_parameters: int) -> Patches:
        target = [np.full(count, int(target), dtype=np.uint8) for target, count in self._patch_targets]
        index, source, offset, factor = (_join([part[i] for part in self._patches]) for i in range(4))
        return Patches(
            n_parameters=n_parameters,
            target=_join(target).astype(np.uint8),
            index=index.astype(np.int32),
            source=source.astype(np.int32),
            offset=offset,
            factor=factor,
        )


def _spread(
    values: ArrayLike,
    shape: tuple[int, ...],
    present: NDArray[np.bool_] | None,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """``values`` broadcast to ``shape``, as a vector; only those that are ``present``.

    Assigning does it: `numpy.broadcast_to` takes longer than a stage of a small study has time for.
    """
    spread = np.empty(shape, dtype=dtype)
    spread[...] = values
    return spread.ravel() if present is None else spread[present]


def _join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)
