"""What a training run leaves behind, beside its policy."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.core.files import write_atomically

CONVERGENCE = "training/convergence.parquet"
METADATA = "training/metadata.json"
TIMINGS = "training/timings.json"


def write_training(
    folder: Path, convergence: pa.Table, metadata: Mapping[str, Any], timings: Mapping[str, float]
) -> list[Path]:
    """Write the convergence history, where the time went, and last what was run and how it ended; the files' paths."""
    table = io.BytesIO()
    pq.write_table(convergence, table)
    contents = {
        CONVERGENCE: table.getvalue(),
        TIMINGS: json_bytes(timings),
        METADATA: json_bytes(metadata),
    }
    for name, data in contents.items():
        write_atomically(folder / name, data)
    return [folder / name for name in contents]


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """A JSON file: keys sorted, no NaN."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False).encode() + b"\n"
