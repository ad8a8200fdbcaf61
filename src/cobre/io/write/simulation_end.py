"""What rank 0 adds when all scenarios are written: small tables over all of them, metadata, and the mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.core.arrow import arrow_table
from cobre.core.files import write_atomically
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import PATHS, SCENARIO_SUMMARY, STAGE_SUMMARY
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.folder import SUCCESS
from cobre.io.write.parquet import parquet_bytes
from cobre.io.write.training import json_bytes

METADATA = "metadata.json"


def write_summaries(
    folder: Path, stage_ids: Sequence[int], costs: NDArray[np.float64], summaries: NDArray[np.float64]
) -> None:
    """Paths, costs and summaries of all scenarios: ``costs [scenario]``, ``summaries [scenario, stage, value]``."""
    n_scenarios, n_stages = summaries.shape[:2]
    scenario = np.repeat(np.arange(n_scenarios, dtype=np.int32), n_stages)
    stage = np.tile(np.array(stage_ids, dtype=np.int32), n_scenarios)
    values = {name: summaries[:, :, k].ravel() for k, name in enumerate(STAGE_SUMMARY.column_names[2:])}
    node = np.tile(np.arange(n_stages, dtype=np.int32), n_scenarios)
    _write(folder, PATHS, {"scenario_id": scenario, "stage_id": stage, "node_id": node})
    _write(folder, STAGE_SUMMARY, {"scenario_id": scenario, "stage_id": stage, **values})
    _write(
        folder,
        SCENARIO_SUMMARY,
        {
            "scenario_id": np.arange(n_scenarios, dtype=np.int32),
            "probability": np.full(n_scenarios, np.nan),
            "discounted_immediate_cost": costs,
        },
    )


def finish_simulation(folder: Path, metadata: Mapping[str, Any], *, is_complete: bool) -> None:
    """Write the metadata and, last and only if all scenarios are there, the marks."""
    write_atomically(folder / FOLDER / METADATA, json_bytes(metadata))
    if is_complete:
        write_atomically(folder / FOLDER / SUCCESS, b"")
        write_atomically(folder / SUCCESS, b"")


def _write(folder: Path, schema: TableSchema, columns: Mapping[str, NDArray[Any]]) -> None:
    path = folder / FOLDER / f"{schema.name}.parquet"
    write_atomically(path, parquet_bytes(arrow_table(schema, columns)))
