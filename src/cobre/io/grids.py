"""Columns of a simulated table as arrays ``[scenario, group]``, folded while they are read.

Every scenario has the same rows in the same order, so that groups of rows are found once. Thousands of scenarios are
read in seconds: only the bytes of the columns asked for, some files at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from cobre._machine import usable_cpus
from cobre._native import output
from cobre.arrays import Floats, Ints
from cobre.io.simulation_results import SimulationFiles

__all__ = ["NO_BLOCK", "Fold", "Grid", "Keys", "columns_in_turn", "read_grid"]

NO_BLOCK = -1
MOST_THREADS = 4


Keys = dict[str, Ints]
"""``[row]``: what tells the rows of a scenario apart; `NO_BLOCK` for values of a whole stage."""


@dataclass(frozen=True)
class Fold:
    """Adds up the rows of each group, weighted. Null counts as 0 beside values, and a group of nulls is NaN."""

    rows: Ints | slice
    """Those that are used, group by group."""
    n_rows: int
    """How many these are."""
    starts: Ints
    """Where each group begins in ``rows``."""
    weights: Floats | None = None
    """Of ``rows``; None: 1."""

    @classmethod
    def by(cls, group: Ints, n_groups: int, weights: Floats | None = None) -> Self:
        """``group [row]`` is the number of its group, or -1 for a row that is not used; no group may be empty."""
        rows = np.argsort(group, kind="stable")
        rows = rows[group[rows] >= 0]
        starts = np.searchsorted(group[rows], np.arange(n_groups))
        chosen = None if weights is None or (weights[rows] == 1.0).all() else weights[rows]
        is_all = len(rows) == len(group) and bool((rows[1:] > rows[:-1]).all())
        return cls(slice(None) if is_all else rows, len(rows), starts, chosen)

    @property
    def is_plain(self) -> bool:
        """Whether every row is a group of its own, in the order of the file."""
        return isinstance(self.rows, slice) and self.weights is None and len(self.starts) == self.n_rows

    def __call__(self, values: Floats) -> Floats:
        """``[group]`` of ``values [row]``."""
        found = values[self.rows] if self.weights is None else values[self.rows] * self.weights
        if len(self.starts) == self.n_rows:
            return found
        is_null = np.isnan(found)
        if not is_null.any():
            sums: Floats = np.add.reduceat(found, self.starts)
            return sums
        sums = np.add.reduceat(np.where(is_null, 0.0, found), self.starts)
        sums[np.logical_and.reduceat(is_null, self.starts)] = np.nan
        return sums


@dataclass(frozen=True)
class Grid:
    """Some columns of a table."""

    scenarios: Ints
    """Ids, ascending."""
    values: dict[str, Floats]
    """``[scenario, group]``; NaN where there is no value."""


Plan = Callable[[Keys], dict[str, Fold]]
"""From the keys of all rows how each column is folded."""


def read_grid(files: SimulationFiles, name: str, keys: Sequence[str], plan: Plan) -> Grid:
    """Columns of table ``name``; ``keys`` are all its columns that tell rows of a scenario apart."""
    paths = _scenario_paths(files, name)
    if paths:
        with files.reading(name):
            found = _ScenarioColumns(files, name, paths, keys, plan)
            values = {column: found.room(column) for column in found.folds}
            if found.fill(values):
                return Grid(found.scenarios, values)
    files.check_columns(name, keys)
    return _from_table(files, name, keys, plan)


def columns_in_turn(
    files: SimulationFiles, name: str, keys: Sequence[str], plan: Plan
) -> Iterator[tuple[str, Floats]]:
    """The columns of `read_grid` one after the other, in memory that the next one takes over.

    For large tables: to get memory from the system takes longer than to read a file.
    """
    paths = _scenario_paths(files, name)
    with files.reading(name):
        found = _ScenarioColumns(files, name, paths, keys, plan) if paths else None
        if found is not None and found.is_own:
            room: Floats | None = None
            for place, column in enumerate(found.folds):
                if room is None or room.shape != found.shape(column):
                    room = found.room(column)
                if not found.fill({column: room}):
                    if place == 0:
                        break
                    raise pa.ArrowInvalid("its files have changed meanwhile")
                yield column, room
            else:
                return
    grid = read_grid(files, name, keys, plan)
    yield from grid.values.items()


def _scenario_paths(files: SimulationFiles, name: str) -> list[Path]:
    """The files of a table that has one per scenario."""
    paths = files.files(name)
    return paths if paths and paths[0].parent.name.startswith("scenario_id=") else []


class _ScenarioColumns:
    """Columns of a table with one file per scenario.

    Files that this program wrote are read by the compiled core, all others, damaged ones among them, by Arrow.
    """

    def __init__(
        self, files: SimulationFiles, name: str, paths: Sequence[Path], keys: Sequence[str], plan: Plan
    ) -> None:
        self.paths = paths
        self.names = [str(path) for path in paths]
        self.keys = list(keys)
        self.first = _read(paths[0], keys)
        self.folds = plan({key: _integers(self.first, key) for key in keys})
        files.check_columns(name, [*keys, *self.folds])
        self.is_own = self._reader(list(self.folds)).is_usable

    @property
    def scenarios(self) -> Ints:
        """Ids, ascending."""
        return np.array([int(path.parent.name.partition("=")[2]) for path in self.paths])

    def shape(self, column: str) -> tuple[int, int]:
        """Scenarios and groups."""
        return len(self.paths), len(self.folds[column].starts)

    def room(self, column: str) -> Floats:
        """Memory for a column."""
        return np.empty(self.shape(column))

    def _reader(self, columns: list[str]) -> output.ScenarioReader:
        return output.ScenarioReader(str(self.paths[0]), self.keys, columns)

    def fill(self, values: dict[str, Floats]) -> bool:
        """Read these columns; False if the scenarios have different rows."""
        own = self._reader(list(values))
        is_plain = {column: self.folds[column].is_plain for column in values}

        def read(place: int) -> bool:
            if own.is_usable:
                rows = {
                    column: each[place] if is_plain[column] else np.empty(own.rows)
                    for column, each in values.items()
                }
                if own.read(self.names[place], list(rows.values())):
                    for column, found in rows.items():
                        if not is_plain[column]:
                            values[column][place] = self.folds[column](found)
                    return True
            return self._read_by_arrow(self.paths[place], place, values)

        n_threads = min(MOST_THREADS, usable_cpus())

        def read_share(first: int) -> bool:
            return all(read(place) for place in range(first, len(self.paths), n_threads))

        with ThreadPoolExecutor(n_threads) as threads:
            return all(threads.map(read_share, range(n_threads)))

    def _read_by_arrow(self, path: Path, place: int, values: dict[str, Floats]) -> bool:
        table = _read(path, [*self.keys, *values])
        if not all(table[key].equals(self.first[key]) for key in self.keys):
            return False
        for column, each in values.items():
            each[place] = self.folds[column](table[column].to_numpy(zero_copy_only=False))
        return True


def _from_table(files: SimulationFiles, name: str, keys: Sequence[str], plan: Plan) -> Grid:
    """From one file for all scenarios, or from scenarios with different rows."""
    index = files.read(name, ["scenario_id", *keys])
    scenarios, place = np.unique(_integers(index, "scenario_id"), return_inverse=True)
    by_key = [_integers(index, key) for key in keys]
    n = len(scenarios)
    is_regular = index.num_rows % n == 0 and all(
        (each.reshape(n, -1) == each[: index.num_rows // n]).all() for each in by_key
    )
    is_regular = is_regular and bool((place.reshape(n, -1) == np.arange(n)[:, np.newaxis]).all())
    if is_regular:
        rows = [each[: index.num_rows // n] for each in by_key]
    else:
        distinct, row = np.unique(np.stack(by_key, axis=1), axis=0, return_inverse=True)
        rows = list(distinct.T)
    folds = plan(dict(zip(keys, rows, strict=True)))
    values = {}
    for column, fold in folds.items():
        found = files.read(name, [column])[column].to_numpy(zero_copy_only=False).astype(np.float64)
        if is_regular:
            grid = found.reshape(n, -1)
        else:
            grid = np.full((n, len(rows[0])), np.nan)
            grid[place, row] = found
        values[column] = np.stack([fold(each) for each in grid])
    return Grid(scenarios, values)


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    with pa.memory_map(str(path)) as mapped, pq.ParquetFile(mapped, pre_buffer=False) as file:
        found = file.read(columns=list(columns), use_threads=False)
    missing = [column for column in columns if column not in found.column_names]
    if missing:
        raise pa.ArrowInvalid(f"{path} has no column {', '.join(missing)}")
    return found


def _integers(table: pa.Table, key: str) -> NDArray[Any]:
    values: NDArray[Any] = table[key].fill_null(NO_BLOCK).to_numpy().astype(np.int64)
    return values
