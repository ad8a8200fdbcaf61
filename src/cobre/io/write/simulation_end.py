"""What rank 0 adds when all scenarios are written: small tables over all of them, metadata, and the mark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.arrow import arrow_table
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import PATHS, SCENARIO_SUMMARY
from cobre.files import write_atomically
from cobre.io.write.folder import SIMULATION as FOLDER
from cobre.io.write.folder import SUCCESS, TRAINING_SUCCESS
from cobre.io.write.parquet import ROWS_PER_GROUP, GroupedFile, parquet_bytes
from cobre.io.write.parts import table_path
from cobre.io.write.training import METADATA as TRAINING_METADATA
from cobre.io.write.training import json_bytes

METADATA = "metadata.json"


def write_summaries(
    folder: Path,
    stage_ids: Sequence[int],
    costs: Floats,
    node_ids: Callable[[range], NDArray[np.int32]],
    probabilities: Floats | None,
) -> None:
    """The path and the cost of every scenario; ``costs [scenario]``.

    ``node_ids`` gives ``[scenario, stage]`` of some scenarios. ``probabilities`` are those of scenarios that are all
    there are.
    """
    n_scenarios = len(costs)
    paths = GroupedFile(table_path(folder, PATHS), PATHS)
    for rows in _paths(stage_ids, n_scenarios, node_ids):
        paths.append(rows)
    paths.close()
    content = {
        "scenario_id": np.arange(n_scenarios, dtype=np.int32),
        "probability": np.full(n_scenarios, np.nan) if probabilities is None else probabilities,
        "discounted_immediate_cost": costs,
    }
    path = table_path(folder, SCENARIO_SUMMARY)
    write_atomically(path, parquet_bytes(arrow_table(SCENARIO_SUMMARY, content)))


def _paths(
    stage_ids: Sequence[int], n_scenarios: int, node_ids: Callable[[range], NDArray[np.int32]]
) -> Iterator[pa.Table]:
    """Some scenarios at a time."""
    n_stages = len(stage_ids)
    stage = np.array(stage_ids, dtype=np.int32)
    step = max(1, ROWS_PER_GROUP // n_stages)
    for first in range(0, n_scenarios, step):
        scenarios = np.arange(first, min(first + step, n_scenarios), dtype=np.int32)
        yield arrow_table(
            PATHS,
            {
                "scenario_id": np.repeat(scenarios, n_stages),
                "stage_id": np.tile(stage, len(scenarios)),
                "node_id": node_ids(range(first, first + len(scenarios))).ravel(),
            },
        )


def write_solver_tables(
    folder: Path, tables: Sequence[tuple[TableSchema, Mapping[str, Sequence[Any]]]]
) -> None:
    """What the solvers did, with and without rows: ``solver/NAME.parquet``."""
    for schema, columns in tables:
        path = folder / FOLDER / f"{schema.name}.parquet"
        write_atomically(path, parquet_bytes(arrow_table(schema, columns)))


def finish_simulation(folder: Path, metadata: Mapping[str, Any], *, is_complete: bool) -> None:
    """Write the metadata and, last and only if all scenarios are there, the marks.

    The mark of the whole folder is not written beside a training run that was stopped.
    """
    write_atomically(folder / FOLDER / METADATA, json_bytes(metadata))
    if is_complete:
        write_atomically(folder / FOLDER / SUCCESS, b"")
        if (folder / TRAINING_SUCCESS).exists() or not (folder / TRAINING_METADATA).exists():
            write_atomically(folder / SUCCESS, b"")
