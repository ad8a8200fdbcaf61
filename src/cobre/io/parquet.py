"""Reads a Parquet file without starting a thread.

Arrow's own reading threads may still hold a Python object when the interpreter ends, and then abort the process
after its work is done (apache/arrow issues 34314 and 50482: one exit in fifteen on two busy cores). A rank has one
core in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["read_parquet"]

MOST_VALUES = 1_000_000_000
"""Of a table: repeated values take no room in the file, so that a small one might fill the memory."""


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table, or some of its columns.

    OSError if the file cannot be read, `pa.ArrowException` if it is no Parquet file.
    """
    with pq.ParquetFile(pa.BufferReader(path.read_bytes())) as file:
        n_columns = file.metadata.num_columns if columns is None else len(columns)
        if (n := file.metadata.num_rows * n_columns) > MOST_VALUES:
            raise pa.ArrowInvalid(f"it has {n} values, more than the {MOST_VALUES} that are read at once")
        return file.read(columns=columns, use_threads=False)
