"""The tables of a simulation as files, written by every rank for its own scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        self.rows.append(chunk.summary.schema, _chunk_table(chunk.summary, chunk.scenarios))

    def joined(self, tables: Sequence[TableSchema]) -> list[TableSchema]:
        return [STAGE_SUMMARY] if isinstance(self.rows, PartFiles) else []


class TableFiles:
    """One file per table, for many scenarios: ``TABLE/data.parquet``."""

    def __init__(self, folder: Path, rank: int, n_ranks: int) -> None:
        self.rows = _open_rows(folder, rank, n_ranks)

    def write(self, chunk: Chunk) -> None:
        """Append the tables of all scenarios of ``chunk``."""
        for table in (*chunk.tables, chunk.summary):
            self.rows.append(table.schema, _chunk_table(table, chunk.scenarios))

    def joined(self, tables: Sequence[TableSchema]) -> list[TableSchema]:
        return [*tables, STAGE_SUMMARY] if isinstance(self.rows, PartFiles) else []


def _open_rows(folder: Path, rank: int, n_ranks: int) -> PartFiles | WholeFiles:
    return PartFiles(folder, rank) if n_ranks > 1 else WholeFiles(folder)


def _chunk_table(table: TableRows, scenarios: range) -> pa.Table:
    """All rows of a chunk, scenario by scenario."""
    given = table.columns
    n_rows = next(iter(given.values())).shape[-1]
    columns: dict[str, NDArray[np.generic]] = {
        name: np.tile(values, len(scenarios)) if values.ndim == 1 else values.ravel()
        for name, values in given.items()
    }
    columns["scenario_id"] = np.repeat(np.arange(scenarios.start, scenarios.stop, dtype=np.int32), n_rows)
    return arrow_table(table.schema, columns)
