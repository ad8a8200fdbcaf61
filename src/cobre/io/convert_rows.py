"""Rows of tables that a conversion changes, and the limits of hydros that 0.18 keeps elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cobre.core.horizon import Horizon

__all__ = ["Columns", "add_rows", "complete_statistics", "keep_minima", "keep_raised_maxima", "set_rows"]

Columns = dict[str, list[Any]]
BOUNDS, GROUP_BOUNDS = "constraints/hydro_bounds.parquet", "constraints/hydro_unit_group_bounds.parquet"
LAGS, INFLOWS = "scenarios/inflow_ar_coefficients.parquet", "scenarios/inflow_seasonal_stats.parquet"
LOADS = "scenarios/load_seasonal_stats.parquet"


def add_rows(tables: dict[str, Columns], path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows to a table, which is made if need be; columns that a row does not have are null."""
    columns = tables.setdefault(path, {})
    length = len(next(iter(columns.values()), ()))
    for row in rows:
        for name in row:
            columns.setdefault(name, [None] * length)
        for name, values in columns.items():
            values.append(row.get(name))
        length += 1


def set_rows(
    tables: dict[str, Columns], path: str, key: tuple[str, ...], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Set values in the rows with the same key, or add rows."""
    for row in rows:
        columns = tables.setdefault(path, {})
        length = len(next(iter(columns.values()), ()))
        place = next((i for i in range(length) if all(columns[name][i] == row[name] for name in key)), None)
        if place is None:
            add_rows(tables, path, [row])
            continue
        for name, value in row.items():
            columns.setdefault(name, [None] * length)[place] = value


def complete_statistics(
    tables: dict[str, Columns], horizon: Horizon, hydros: Iterable[int], buses: Iterable[int]
) -> None:
    """0.18 wants statistics of every hydro and bus in every stage; what 0.5.1 does not mention is 0.

    Hydros with lags are left alone: a row would change what their coefficients count in.
    """
    with_lags = set(tables.get(LAGS, {}).get("hydro_id", ()))
    wanted = (
        (INFLOWS, "hydro_id", ("mean_m3s", "std_m3s"), [each for each in hydros if each not in with_lags]),
        (LOADS, "bus_id", ("mean_mw", "std_mw"), list(buses)),
    )
    for path, key, names, ids in wanted:
        if path not in tables:
            continue
        there = set(zip(tables[path][key], tables[path]["stage_id"], strict=True))
        rows = [
            {key: each, "stage_id": stage.id, **dict.fromkeys(names, 0.0)}
            for each in ids
            for stage in horizon.stages
            if (each, stage.id) not in there
        ]
        add_rows(tables, path, rows)


def keep_minima(tables: dict[str, Columns]) -> None:
    """Least turbined flow and power of a stage belong to unit groups now."""
    bounds = tables.get(BOUNDS, {})
    for name in ("min_turbined_m3s", "min_generation_mw"):
        values = bounds.pop(name, ())
        rows = [
            {
                "hydro_id": bounds["hydro_id"][i],
                "hydro_unit_group_id": 0,
                "stage_id": bounds["stage_id"][i],
                name: value,
            }
            for i, value in enumerate(values)
            if value is not None
        ]
        set_rows(tables, GROUP_BOUNDS, ("hydro_id", "hydro_unit_group_id", "stage_id"), rows)


def keep_raised_maxima(horizon: Horizon, documents: dict[str, Any], tables: dict[str, Columns]) -> None:
    """A stage may only lower the capacity of a plant now: one that was raised becomes that of the plant."""
    bounds = tables.get(BOUNDS, {})
    for name in ("max_turbined_m3s", "max_generation_mw"):
        values = bounds.get(name, ())
        for hydro in documents["system/hydros.json"]["hydros"]:
            base = hydro["generation"][name]
            given = {
                bounds["stage_id"][i]: value
                for i, value in enumerate(values)
                if value is not None and bounds["hydro_id"][i] == hydro["id"]
            }
            most = max(given.values(), default=base)
            if most <= base:
                continue
            for holder in (hydro["generation"], *hydro["unit_groups"]):
                holder[name] = most
            others = [stage.id for stage in horizon.stages if stage.id not in given]
            rows = [{"hydro_id": hydro["id"], "stage_id": stage, name: base} for stage in others]
            set_rows(tables, BOUNDS, ("hydro_id", "stage_id"), rows)
