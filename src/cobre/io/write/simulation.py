"""The tables of a simulation as files, written by every rank for its own scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.core.arrow import arrow_table
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import STAGE_SUMMARY
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.parts import PartFiles, WholeFiles
from cobre.io.write.scenario_files import write_scenarios

ROWS_AT_ONCE = 20_000
"""Of a chunk that are turned into a table together: columns that all scenarios share take memory only there."""


class TableRows(Protocol):
    """Rows of one table for some scenarios; columns are ``[scenario, row]`` or ``[row]``."""

    @property
    def schema(self) -> TableSchema: ...
    @property
    def columns(self) -> Mapping[str, NDArray[np.generic]]: ...


class Chunk(Protocol):
    """The tables of some consecutive scenarios."""

    @property
    def scenarios(self) -> range: ...
    @property
    def tables(self) -> Sequence[TableRows]: ...
    @property
    def summary(self) -> TableRows: ...


class SimulationWriter(Protocol):
    """Writes the tables of the scenarios of one rank."""

    rows: PartFiles | WholeFiles
    """Of the tables over all scenarios."""

    def write(self, chunk: Chunk) -> None:
        """Write the tables of all scenarios of ``chunk``."""

    def joined(self, tables: Sequence[TableSchema]) -> list[TableSchema]:
        """Which of the case's tables, and of those over all scenarios, must be made of the parts of all ranks."""


class ScenarioFiles:
    """One file per table and scenario: ``TABLE/scenario_id=NNNN/data.parquet``."""

    def __init__(self, folder: Path, rank: int, n_ranks: int) -> None:
        self.rows = _open_rows(folder, rank, n_ranks)
        self._root = folder / FOLDER

    def write(self, chunk: Chunk) -> None:
        """Write the tables of all scenarios of ``chunk``; a table without rows has no file."""
        for table in chunk.tables:
            write_scenarios(self._root / table.schema.name, table.schema, table.columns, chunk.scenarios)
        for rows in _chunk_tables(chunk.summary, chunk.scenarios):
            self.rows.append(chunk.summary.schema, rows)

    def joined(self, tables: Sequence[TableSchema]) -> list[TableSchema]:
        return [STAGE_SUMMARY] if isinstance(self.rows, PartFiles) else []


class TableFiles:
    """One file per table, for many scenarios: ``TABLE/data.parquet``."""

    def __init__(self, folder: Path, rank: int, n_ranks: int) -> None:
        self.rows = _open_rows(folder, rank, n_ranks)

    def write(self, chunk: Chunk) -> None:
        """Append the tables of all scenarios of ``chunk``."""
        for table in (*chunk.tables, chunk.summary):
            for rows in _chunk_tables(table, chunk.scenarios):
                self.rows.append(table.schema, rows)

    def joined(self, tables: Sequence[TableSchema]) -> list[TableSchema]:
        return [*tables, STAGE_SUMMARY] if isinstance(self.rows, PartFiles) else []


def _open_rows(folder: Path, rank: int, n_ranks: int) -> PartFiles | WholeFiles:
    return PartFiles(folder, rank) if n_ranks > 1 else WholeFiles(folder)


def _chunk_tables(table: TableRows, scenarios: range) -> Iterator[pa.Table]:
    """All rows of a chunk, scenario by scenario; some scenarios at a time."""
    given = table.columns
    n_rows = next(iter(given.values())).shape[-1]
    step = max(1, ROWS_AT_ONCE // max(1, n_rows))
    for first in range(0, len(scenarios), step):
        numbers = scenarios[first : first + step]
        columns: dict[str, NDArray[np.generic]] = {
            name: np.tile(values, len(numbers)) if values.ndim == 1 else values[first : first + step].ravel()
            for name, values in given.items()
        }
        columns["scenario_id"] = np.repeat(np.arange(numbers.start, numbers.stop, dtype=np.int32), n_rows)
        yield arrow_table(table.schema, columns)
