"""What a training run leaves behind, beside its policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cobre.core.files import write_atomically
from cobre.io.write.encoding import json_bytes, parquet_bytes

CONVERGENCE = "training/convergence.parquet"
METADATA = "training/metadata.json"
TIMINGS = "training/timings.json"


def write_training(
    folder: Path, convergence: pa.Table, metadata: Mapping[str, Any], timings: Mapping[str, float]
) -> list[Path]:
    """Write the convergence history, what was run and how it ended, and where the time went; the files' paths."""
    contents = {
        CONVERGENCE: parquet_bytes(convergence),
        METADATA: json_bytes(metadata),
        TIMINGS: json_bytes(timings),
    }
    for name, data in contents.items():
        write_atomically(folder / name, data)
    return [folder / name for name in contents]
