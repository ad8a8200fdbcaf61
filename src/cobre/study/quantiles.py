"""Mean and quantiles over scenarios of any column of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.outputs import Column, TableSchema
from cobre.errors import ValidationError
from cobre.io.grids import NO_BLOCK, Fold, Keys, read_grid
from cobre.io.simulation_results import NAMED_BY, SCHEMAS, Calendar, SimulationFiles, with_names
from cobre.io.spelling import nearest
from cobre.study.queries.fans import mean_of, quantiles_of

KEYS = {
    **{kind: column for column, kind in NAMED_BY.items()},
    "stage": "stage_id",
    "block": "block_id",
    "lag": "lag_index",
    "constraint": "constraint_id",
}
ENTITIES = {*NAMED_BY, "lag_index", "lag", "delivery_date", "constraint_id"}
"""Columns that tell rows of the same scenario, stage and block apart."""
SEASON = "season"
INTENSIVE_UNITS = ("$/MWh", "$/hm3", "MW/(m3/s)")
"""Adding up such values of several entities says nothing."""


def quantile_table(
    files: SimulationFiles,
    column: str,
    by: Sequence[str],
    shares: Sequence[float] | float,
    table: str | None,
) -> pa.Table:
    """One row per combination of ``by``: its keys, ``mean``, and ``p5``, ``p50``, … for the ``shares``."""
    by = (by,) if isinstance(by, str) else by
    shares = (shares,) if isinstance(shares, float | int) else tuple(shares)
    for share in shares:
        if isinstance(share, str) or not 0.0 <= share <= 1.0:
            raise _refused(f"there is no quantile {share!r}", "give shares from 0 to 1")
    schema = _schema_with(column, by, table)
    described = next(each for each in schema if each.name == column)
    key_columns = [_key(schema, name) for name in by]
    _check_quantity(schema, described, key_columns)
    calendar = files.calendar()
    groups: list[NDArray[Any]] = []

    def plan(keys: Keys) -> dict[str, Fold]:
        used = _rows_used(described, key_columns, keys)
        numbers, n_groups = _groups([_key_values(calendar, name, keys) for name in key_columns], used, groups)
        return {column: Fold.by(numbers, n_groups, hour_weights(calendar, described, key_columns, keys))}

    grid = read_grid(files, schema.name, _all_keys(schema), plan).values[column]
    has_values = ~np.isnan(grid).all(axis=0)
    if not has_values.any():
        raise _refused(f"{column} has no values in table {schema.name}", "ask for another column")
    grid = np.nan_to_num(grid[:, has_values], nan=0.0)
    found: dict[str, Any] = {name: each[has_values] for name, each in zip(key_columns, groups, strict=True)}
    weights = files.probabilities()
    found["mean"] = mean_of(grid, weights)
    for share in shares:
        found[f"p{100 * share:g}"] = quantiles_of(grid, [share], weights)[0]
    return with_names(files, pa.table(found))


def _groups(keys: list[NDArray[Any]], used: NDArray[np.bool_], found: list[NDArray[Any]]) -> tuple[Ints, int]:
    """Number of the group of each row, -1 where it is not used, and how many there are.

    The keys of the groups are appended to ``found``, one array for each key.
    """
    numbers = np.full(len(used), -1)
    if not keys:
        numbers[used] = 0
        return numbers, 1
    distinct, place = np.unique(np.stack([key[used] for key in keys], axis=1), axis=0, return_inverse=True)
    numbers[used] = place
    found.extend(distinct.T.astype(np.int32))
    return numbers, len(distinct)


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
        meant = nearest(str(column), [name for schema in named for name in schema.column_names])
        look = (
            f"its columns are: {', '.join(SCHEMAS[table].column_names)}"
            if table
            else "look at variables.csv for all columns"
        )
        raise _refused(f"{where} no column {column!r}", f"use {meant!r}, or {look}" if meant else look)
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


def _all_keys(schema: TableSchema) -> list[str]:
    """Columns that tell the rows of a scenario apart."""
    return [name for name in schema.column_names if name in ENTITIES or name in ("stage_id", "block_id")]


def _key_values(calendar: Calendar, name: str, keys: Keys) -> NDArray[Any]:
    if name == SEASON:
        stages, place = np.unique(keys["stage_id"], return_inverse=True)
        return np.array([calendar.season_of(stage) for stage in stages.tolist()], dtype=np.int32)[place]
    return keys[name]


def _rows_used(column: Column, by: list[str], keys: Keys) -> NDArray[np.bool_]:
    """All rows; of a value that belongs to the stage, only the one that speaks for it."""
    if column.is_of_stage and "block_id" in keys and "block_id" not in by:
        return speaks_for_stage(column, keys)
    return np.ones(len(next(iter(keys.values()), (0,))), dtype=np.bool_)


def speaks_for_stage(column: Column, keys: Keys) -> NDArray[np.bool_]:
    """Whether a row is that of the first block of its stage, or of the last one for a value at the end."""
    block = keys["block_id"]
    if not column.is_at_end or "stage_id" not in keys:
        first: NDArray[np.bool_] = block <= 0
        return first
    stages, stage = np.unique(keys["stage_id"], return_inverse=True)
    last = np.full(len(stages), NO_BLOCK, dtype=np.int64)
    np.maximum.at(last, stage, block)
    is_last: NDArray[np.bool_] = block == last[stage]
    return is_last


def hour_weights(calendar: Calendar, column: Column, by: list[str], keys: Keys) -> Floats | None:
    """None for values that add up over time; otherwise the share of the row's hours in those of its group."""
    if (column.adds_up and not column.is_of_stage) or "stage_id" not in keys:
        return None
    stages, stage = np.unique(keys["stage_id"], return_inverse=True)
    blocks: list[int | None] = [None]
    block = np.zeros(len(stage), dtype=np.int64)
    if "block_id" in keys and not column.is_of_stage:
        distinct, block = np.unique(keys["block_id"], return_inverse=True)
        blocks = [None if number == NO_BLOCK else number for number in distinct.tolist()]
    shares = np.full((len(stages), len(blocks)), np.nan)
    for at, (s, b) in zip(np.ndindex(shares.shape), product(stages.tolist(), blocks), strict=True):
        if calendar.has(s, b):
            shares[at] = calendar.hours(s, b) / calendar.hours_of_group(s, b, by)
    weights: Floats = shares[stage, block]
    return weights


def _refused(what: str, fix: str) -> ValidationError:
    return ValidationError(what, kind="IncompatibleSettings", suggestion=fix)
