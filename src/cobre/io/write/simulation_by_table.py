"""The tables of a simulation in one file each, for many scenarios.

Each rank appends its scenarios to part files of its own; then the parts are joined, each table by one rank. The
rows of the joined file and their groups do not depend on how scenarios were split.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.core.arrow import arrow_schema
from cobre.core.files import unwritable
from cobre.core.outputs import TableSchema
from cobre.io.write.folder import PARTS
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.parquet import ROWS_PER_GROUP
from cobre.io.write.simulation import DATA, Chunk, chunk_table


class TableFiles:
    """Part files of one rank: ``.parts/TABLE/RANK.parquet``."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._root = folder / FOLDER / PARTS
        self._rank = rank
        self._writers: dict[str, pq.ParquetWriter] = {}

    def write(self, chunk: Chunk) -> None:
        """Append the tables of all scenarios of ``chunk``."""
        for table in chunk.tables:
            rows = chunk_table(table, chunk.scenarios)
            try:
                if rows.num_rows:
                    self._writer(table.schema).write_table(rows)
            except OSError as error:
                raise unwritable(self._root / table.schema.name, error) from error

    def close(self) -> None:
        """End the part files, so that they can be read."""
        for name, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                raise unwritable(self._root / name, error) from error
        self._writers.clear()

    def _writer(self, schema: TableSchema) -> pq.ParquetWriter:
        if schema.name not in self._writers:
            path = self._root / schema.name / f"{self._rank:06d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writers[schema.name] = pq.ParquetWriter(
                path, arrow_schema(schema), compression="lz4", use_dictionary=False, write_statistics=False
            )
        return self._writers[schema.name]


def join_parts(folder: Path, schema: TableSchema) -> Path | None:
    """Make ``TABLE/data.parquet`` of the parts of all ranks; None if the table has no rows."""
    parts = sorted((folder / FOLDER / PARTS / schema.name).glob("*.parquet"))
    if not parts:
        return None
    target = folder / FOLDER / schema.name / DATA
    unfinished = target.with_suffix(".tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(unfinished, arrow_schema(schema), compression="zstd") as writer:
            for rows in _groups(parts):
                writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritable(target, error) from error
    return target


def remove_parts(folder: Path) -> None:
    """Take the part files away once all are joined."""
    shutil.rmtree(folder / FOLDER / PARTS, ignore_errors=True)


def _groups(parts: list[Path]) -> Iterator[pa.Table]:
    """All rows in order, in tables of one contiguous piece with ``ROWS_PER_GROUP`` rows, the last one with the rest."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for part in parts:
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, use_threads=False):
                waiting.append(batch)
                n_waiting += batch.num_rows
                while n_waiting >= ROWS_PER_GROUP:
                    rows = pa.Table.from_batches(waiting)
                    yield rows.slice(0, ROWS_PER_GROUP).combine_chunks()
                    waiting = rows.slice(ROWS_PER_GROUP).to_batches()
                    n_waiting -= ROWS_PER_GROUP
    if n_waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()
