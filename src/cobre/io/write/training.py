"""Writes the results of a training run, except its policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cobre.core.arrow import arrow_table
from cobre.core.outputs import TableSchema
from cobre.files import write_atomically
from cobre.io.write.parquet import parquet_bytes

CONVERGENCE = "training/convergence.parquet"
METADATA = "training/metadata.json"
TIMINGS = "training/timings.json"


def write_training(
    folder: Path,
    convergence: pa.Table,
    metadata: Mapping[str, Any],
    timings: Mapping[str, float],
    tables: Sequence[tuple[TableSchema, Mapping[str, Sequence[Any]]]] = (),
) -> list[Path]:
    """Write the convergence history, where the time went, and last what was run and how it ended; the files' paths.

    ``tables`` are further ones with their columns.
    """
    contents = {
        CONVERGENCE: parquet_bytes(convergence),
        TIMINGS: json_bytes(timings),
    }
    for schema, columns in tables:
        contents[f"training/{schema.name}.parquet"] = parquet_bytes(arrow_table(schema, columns))
    contents[METADATA] = json_bytes(metadata)
    for name, data in contents.items():
        write_atomically(folder / name, data)
    return [folder / name for name in contents]


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """A JSON file: keys sorted, no NaN."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False).encode() + b"\n"
