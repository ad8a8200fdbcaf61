"""Tables as Parquet files; equal tables give equal bytes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.core.arrow import arrow_schema
from cobre.core.outputs import TableSchema
from cobre.files import move_into_place, unwritable

ROWS_PER_GROUP = 100_000
SMALL_BYTES = 1 << 16
"""Below this a compressor costs more time than its bytes are worth."""


def parquet_bytes(table: pa.Table) -> bytes:
    """The contents of a Parquet file."""
    target = pa.BufferOutputStream()
    is_small = table.nbytes < SMALL_BYTES
    pq.write_table(
        table,
        target,
        row_group_size=ROWS_PER_GROUP,
        compression="none" if is_small else "zstd",
        use_dictionary=not is_small,
    )
    data: bytes = target.getvalue().to_pybytes()
    return data


class GroupedFile:
    """A file that need not fit the memory, written in groups of ``ROWS_PER_GROUP`` rows.

    Equal rows give equal bytes, however they are split between calls. The file appears whole when it is closed.
    """

    def __init__(self, path: Path, schema: TableSchema) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}")
        self._waiting: list[pa.RecordBatch] = []
        self._n_waiting = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._unfinished,
                arrow_schema(schema),
                compression="zstd",
                use_dictionary=_with_dictionary(schema),
            )
        except OSError as error:
            raise unwritable(path, error) from error

    def append(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows at the end."""
        self._waiting += rows.to_batches() if isinstance(rows, pa.Table) else [rows]
        self._n_waiting += rows.num_rows
        while self._n_waiting >= ROWS_PER_GROUP:
            self._write_group(ROWS_PER_GROUP)

    def close(self) -> None:
        """Write the rows that wait and give the file its name."""
        if self._n_waiting:
            self._write_group(self._n_waiting)
        try:
            self._writer.close()
            move_into_place(self._unfinished, self._path)
        except OSError as error:
            self._fail(error)

    def abandon(self) -> None:
        """Remove the unfinished file."""
        with contextlib.suppress(OSError):
            self._writer.close()
        self._unfinished.unlink(missing_ok=True)

    def _write_group(self, n_rows: int) -> None:
        rows = pa.Table.from_batches(self._waiting)
        self._waiting = rows.slice(n_rows).to_batches()
        self._n_waiting -= n_rows
        try:
            self._writer.write_table(rows.slice(0, n_rows).combine_chunks(), row_group_size=ROWS_PER_GROUP)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> NoReturn:
        self.abandon()
        raise unwritable(self._path, error) from error


def _with_dictionary(schema: TableSchema) -> list[str]:
    """Columns of ids and codes. Of measured values nearly all differ, and a dictionary of them costs time and bytes."""
    return [column.name for column in schema if column.type not in ("f64", "bool")]
