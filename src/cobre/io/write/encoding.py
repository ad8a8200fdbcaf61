"""Tables and documents as the bytes of files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["json_bytes", "parquet_bytes"]


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def json_bytes(value: Mapping[str, Any], *, sort_keys: bool = True) -> bytes:
    """The document as text that ends with a line break; a number that is not finite is refused."""
    return json.dumps(value, indent=2, sort_keys=sort_keys, allow_nan=False).encode() + b"\n"
