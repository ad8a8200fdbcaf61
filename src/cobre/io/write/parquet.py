"""Tables as Parquet files; equal tables give equal bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.core.arrow import arrow_schema
from cobre.core.files import unwritable
from cobre.core.outputs import TableSchema

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


def write_groups(path: Path, schema: TableSchema, groups: Iterable[pa.Table]) -> None:
    """Write a file that need not fit the memory, group of rows by group; it appears whole or not at all."""
    unfinished = path.with_name(f".{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(
            unfinished, arrow_schema(schema), compression="zstd", use_dictionary=_with_dictionary(schema)
        ) as writer:
            for rows in groups:
                writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _with_dictionary(schema: TableSchema) -> list[str]:
    """Columns of ids and codes. Of measured values nearly all differ, and a dictionary of them costs time and bytes."""
    return [column.name for column in schema if column.type not in ("f64", "bool")]
