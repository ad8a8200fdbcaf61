"""One Parquet file per table and scenario, written by the compiled core.

Arrow's writer takes longer for a file of some dozen rows than a scenario takes to solve.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import output
from cobre.core.outputs import Column, TableSchema
from cobre.files import unwritable

Values = NDArray[Any]
INTEGER_BITS = {"i8": 8, "i32": 32, "date": 0}
"""In the file; dates are days since 1970."""


def write_scenarios(
    folder: Path, schema: TableSchema, columns: Mapping[str, Values], scenarios: range
) -> None:
    """Write ``FOLDER/scenario_id=NNNN/data.parquet`` for each scenario; a table without rows has no files.

    Columns are ``[scenario, row]``, or ``[row]`` where all scenarios have the same. Each file appears whole or not at
    all, but a crash of the machine may lose it until `cobre.files.sync_files` is called.
    """
    n_rows = next(iter(columns.values())).shape[-1]
    if n_rows == 0:
        return
    table = output.ScenarioTable(len(scenarios), n_rows)
    numbers = np.repeat(np.arange(scenarios.start, scenarios.stop, dtype=np.int32), n_rows).reshape(
        -1, n_rows
    )
    for column in schema:
        _add(table, column, numbers if column.name == "scenario_id" else columns[column.name])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.write(str(folder), scenarios.start)
    except OSError as error:
        raise unwritable(Path(error.filename or folder), error) from error


def _add(table: output.ScenarioTable, column: Column, values: Values) -> None:
    """Hand over a column; NaN is null where the column may be null."""
    is_valid = None
    if column.is_nullable and values.dtype.kind == "f":
        is_null = np.isnan(values)
        if is_null.any():
            is_valid = np.ascontiguousarray(~is_null).view(np.uint8)
            values = np.where(is_null, 0.0, values)
    if column.type == "f64":
        floats = np.ascontiguousarray(values, dtype=np.float64)
        table.add_floats(column.name, floats, is_valid, column.is_nullable)
    elif column.type == "bool":
        booleans = np.ascontiguousarray(values, dtype=np.bool_).view(np.uint8)
        table.add_booleans(column.name, booleans, is_valid, column.is_nullable)
    elif column.type in INTEGER_BITS:
        integers = np.ascontiguousarray(values, dtype=np.int32)
        table.add_integers(column.name, integers, is_valid, column.is_nullable, INTEGER_BITS[column.type])
    else:
        raise NotImplementedError(f"column {column.name} has values of type {column.type}")
