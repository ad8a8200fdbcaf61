"""Mean and quantiles over scenarios of any column of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.core.outputs import Column, TableSchema
from cobre.errors import ValidationError
from cobre.io.simulation_results import NAMED_BY, SCHEMAS, Calendar, SimulationFiles, with_names

KEYS = {
    **{kind: column for column, kind in NAMED_BY.items()},
    "stage": "stage_id",
    "block": "block_id",
    "lag": "lag_index",
    "constraint": "constraint_id",
}
ENTITIES = {*NAMED_BY, "lag_index", "constraint_id"}
"""Columns that tell rows of the same scenario, stage and block apart."""
SEASON = "season"
NO_BLOCK = -1
INTENSIVE_UNITS = ("$/MWh", "$/hm3", "MW/(m3/s)")
"""Adding up such values of several entities says nothing."""

Floats = NDArray[np.float64]


def quantile_table(
    files: SimulationFiles, column: str, by: Sequence[str], shares: Sequence[float], table: str | None
) -> pa.Table:
    """One row per combination of ``by``: its keys, ``mean``, and ``p5``, ``p50``, … for the ``shares``."""
    by = (by,) if isinstance(by, str) else by
    for share in shares:
        if not 0.0 <= share <= 1.0:
            raise _refused(f"there is no quantile {share}", "give shares from 0 to 1")
    schema = _schema_with(column, by, table)
    described = next(each for each in schema if each.name == column)
    key_columns = [_key(schema, name) for name in by]
    _check_quantity(schema, described, key_columns)
    rows = files.read(schema.name, _needed(schema, column, key_columns))
    calendar = files.calendar()
    values = rows[column].to_numpy(zero_copy_only=False).astype(np.float64)
    used = _rows_used(described, key_columns, rows) & ~np.isnan(values)
    if not used.any():
        raise _refused(f"{column} has no values in table {schema.name}", "ask for another column")
    rows, values = rows.filter(pa.array(used)), values[used]
    weighted = values * _weights(calendar, described, key_columns, rows)
    keys = [_key_values(calendar, name, rows) for name in key_columns]
    groups, grid = _grid(rows["scenario_id"].to_numpy(), keys, weighted)
    found: dict[str, Any] = dict(zip(key_columns, groups, strict=True))
    found["mean"] = grid.mean(axis=1)
    for share in shares:
        found[f"p{100 * share:g}"] = np.quantile(grid, share, axis=1)
    return with_names(files, pa.table(found))


def _grid(
    scenario: NDArray[Any], keys: list[NDArray[Any]], values: Floats
) -> tuple[list[NDArray[Any]], Floats]:
    """Distinct keys, each ``[group]``, and sums ``[group, scenario]``."""
    scenarios, column = np.unique(scenario, return_inverse=True)
    distinct = [np.unique(key, return_inverse=True) for key in keys]
    sizes = tuple(len(each) for each, _ in distinct)
    places = np.ravel_multi_index([place for _, place in distinct], sizes) if keys else np.zeros_like(column)
    groups, row = np.unique(places, return_inverse=True)
    n = len(scenarios)
    grid: Floats = np.zeros(len(groups) * n)
    np.add.at(grid, row * n + column, values)
    chosen = np.unravel_index(groups, sizes) if keys else ()
    return [each[index] for (each, _), index in zip(distinct, chosen, strict=True)], grid.reshape(-1, n)


def _schema_with(column: str, by: Sequence[str], table: str | None) -> TableSchema:
    if table is not None and table not in SCHEMAS:
        raise _refused(f"there is no table {table!r}", f"use one of {', '.join(SCHEMAS)}")
    named = [SCHEMAS[table]] if table is not None else list(SCHEMAS.values())
    found = [schema for schema in named if column in schema.column_names]
    wanted = {KEYS.get(name) for name in by} & ENTITIES
    exact = [schema for schema in found if wanted == ENTITIES.intersection(schema.column_names)]
    fitting = exact if len(found) > 1 and exact else found
    if not fitting:
        where = f"table {table} has" if table else "there is"
        raise _refused(f"{where} no column {column!r}", "look at variables.csv for all columns")
    if len(fitting) > 1:
        names = ", ".join(schema.name for schema in fitting)
        raise _refused(f"several tables have a column {column!r}: {names}", "say which with table=")
    return fitting[0]


def _key(schema: TableSchema, name: str) -> str:
    if name == SEASON:
        return SEASON
    column = KEYS.get(name)
    if column is None or column not in schema.column_names:
        possible = [word for word, each in KEYS.items() if each in schema.column_names]
        raise _refused(
            f"table {schema.name} cannot be grouped by {name!r}", f"use {', '.join([*possible, SEASON])}"
        )
    return column


def _check_quantity(schema: TableSchema, column: Column, keys: list[str]) -> None:
    """Refuse what is no quantity, and sums over entities that say nothing."""
    if column.type != "f64":
        raise _refused(
            f"{column.name} is no quantity, so that it has no mean", f"count its rows in table {schema.name}"
        )
    entity = next((name for name in schema.column_names if name in NAMED_BY), None)
    if entity is not None and entity not in keys and column.unit in INTENSIVE_UNITS:
        raise _refused(
            f"{column.name} of several entities cannot be added up", f"add {NAMED_BY[entity]!r} to by"
        )
    if "lag_index" in schema.column_names and "lag_index" not in keys:
        raise _refused(f"{column.name} of several lags cannot be added up", "add 'lag' to by")
    if column.name == "slack_value" and "constraint_id" not in keys:
        raise _refused("slack_value has units of its constraint", "add 'constraint' to by")


def _needed(schema: TableSchema, column: str, keys: list[str]) -> list[str]:
    wanted = {"scenario_id", "stage_id", "block_id", column, *keys}
    return [name for name in schema.column_names if name in wanted]


def _key_values(calendar: Calendar, name: str, rows: pa.Table) -> NDArray[Any]:
    if name == SEASON:
        stages, place = np.unique(rows["stage_id"].to_numpy(), return_inverse=True)
        return np.array([calendar.season_of(stage) for stage in stages.tolist()], dtype=np.int32)[place]
    values: NDArray[Any] = rows[name].to_numpy(zero_copy_only=False)
    return values


def _rows_used(column: Column, keys: list[str], rows: pa.Table) -> NDArray[np.bool_]:
    """All rows; of a value that the blocks of a stage repeat, only the first block's."""
    if column.is_of_stage and "block_id" in rows.column_names and "block_id" not in keys:
        first: NDArray[np.bool_] = rows["block_id"].to_numpy(zero_copy_only=False) == 0
        return first
    return np.ones(rows.num_rows, dtype=np.bool_)


def _weights(calendar: Calendar, column: Column, keys: list[str], rows: pa.Table) -> Floats:
    """1 for values that add up over time; otherwise the share of the row's hours in those of its group."""
    if (column.adds_up and not column.is_of_stage) or "stage_id" not in rows.column_names:
        return np.ones(rows.num_rows)
    stages, stage = np.unique(rows["stage_id"].to_numpy(), return_inverse=True)
    blocks, block = [None], np.zeros(rows.num_rows, dtype=np.int64)
    if "block_id" in rows.column_names and not column.is_of_stage:
        numbers = rows["block_id"].fill_null(NO_BLOCK).to_numpy()
        distinct, block = np.unique(numbers, return_inverse=True)
        blocks = [None if number == NO_BLOCK else number for number in distinct.tolist()]
    shares = np.full((len(stages), len(blocks)), np.nan)
    for at, (s, b) in zip(np.ndindex(shares.shape), product(stages.tolist(), blocks), strict=True):
        if calendar.has(s, b):
            shares[at] = calendar.hours(s, b) / calendar.hours_of_group(s, b, keys)
    weights: Floats = shares[stage, block]
    return weights


def _refused(what: str, fix: str) -> ValidationError:
    return ValidationError(what, kind="IncompatibleSettings", suggestion=fix)
