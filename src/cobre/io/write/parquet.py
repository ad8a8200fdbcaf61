"""Tables as the contents of Parquet files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 100_000
SMALL_BYTES = 1 << 16
"""Below this a compressor costs more time than its bytes are worth."""


def parquet_bytes(table: pa.Table) -> bytes:
    """The contents of a Parquet file; equal tables give equal bytes."""
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
