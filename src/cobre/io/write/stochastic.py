"""The noise and the inflow model of a run, in the form in which ``scenarios/`` of a case takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.arrays import Ints
from cobre.core.case import Case
from cobre.core.scenarios import AnnualComponent, Correlation, HydroRows, InflowStatistics
from cobre.files import write_atomically
from cobre.io.write.parquet import parquet_bytes
from cobre.io.write.training import json_bytes
from cobre.stochastic import OpeningTree

__all__ = ["FOLDER", "write_stochastic"]

FOLDER = "stochastic"
OPTIONAL = {"load_seasonal_stats.parquet", "fitting_report.json"}
"""Files that not every run writes; those of an earlier run are taken away."""
TYPES = {
    **dict.fromkeys(("hydro_id", "bus_id", "stage_id", "lag"), pa.int32()),
    **dict.fromkeys(("opening_index", "entity_index"), pa.uint32()),
}
"""Of columns that are no floating-point numbers."""


def write_stochastic(folder: Path, case: Case, statistics: InflowStatistics, tree: OpeningTree) -> None:
    """Write ``stochastic/``: openings, statistics, coefficients, correlation, and the report of a fit if there was one.

    ``statistics`` are those of the inflows that the openings stand for.
    """
    contents = {
        "noise_openings.parquet": parquet_bytes(_openings(case, tree)),
        "inflow_seasonal_stats.parquet": parquet_bytes(_statistics(case, statistics)),
        "inflow_ar_coefficients.parquet": parquet_bytes(_lags(case)),
        "inflow_annual_component.parquet": parquet_bytes(_annual(case)),
        "correlation.json": json_bytes(_correlation(case)),
    }
    if case.tables.bus.load_std_mw.any():
        contents["load_seasonal_stats.parquet"] = parquet_bytes(_loads(case))
    if case.fitting_report is not None:
        contents["fitting_report.json"] = case.fitting_report.encode()
    for name in OPTIONAL - contents.keys():
        (folder / FOLDER / name).unlink(missing_ok=True)
    for name, data in contents.items():
        write_atomically(folder / FOLDER / name, data)


def _ids(entities: Any) -> Ints:
    return np.array([each.id for each in entities], dtype=np.int64)


def _openings(case: Case, tree: OpeningTree) -> pa.Table:
    counts, width = tree.layout.n_openings.astype(np.int64), tree.layout.n_entities
    opening = np.concatenate([np.arange(n) for n in counts]) if len(counts) else np.empty(0)
    table = _table(
        {
            "stage_id": np.repeat(_ids(case.horizon.stages), counts * width),
            "opening_index": np.repeat(opening, width).astype(np.uint32),
            "entity_index": np.tile(np.arange(width), int(counts.sum())),
            "value": tree.values[: int(tree.layout.offsets[-1])],
        }
    )
    if tree.layout.has_weights:
        equal = [np.full(n, np.nan) for n in counts]
        weights = np.concatenate([tree.all_weights().get(t, equal[t]) for t in range(len(counts))])
        probabilities = pa.array(np.repeat(weights, width), pa.float64(), from_pandas=True)
        table = table.append_column("probability", probabilities)
    return table


def _table(columns: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Without nulls."""
    arrays = [pa.array(values, TYPES.get(name, pa.float64())) for name, values in columns.items()]
    fields = [pa.field(name, array.type, nullable=False) for name, array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _of_hydros(case: Case, rows: HydroRows, **columns: NDArray[Any]) -> pa.Table:
    ids = _ids(case.system.hydros)[rows.hydro]
    return _table({"hydro_id": ids, "stage_id": rows.stage_id, **columns})


def _statistics(case: Case, rows: InflowStatistics) -> pa.Table:
    return _of_hydros(case, rows, mean_m3s=rows.mean_m3s, std_m3s=rows.std_m3s)


def _lags(case: Case) -> pa.Table:
    rows = case.scenarios.lags
    ratio = rows.residual_std_ratio
    return _of_hydros(case, rows, lag=rows.lag, coefficient=rows.coefficient, residual_std_ratio=ratio)


def _annual(case: Case) -> pa.Table:
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    rows = case.scenarios.annual or AnnualComponent(none, none, nothing, nothing, nothing)
    return _of_hydros(
        case,
        rows,
        annual_coefficient=rows.coefficient,
        annual_mean_m3s=rows.mean_m3s,
        annual_std_m3s=rows.std_m3s,
    )


def _loads(case: Case) -> pa.Table:
    mean, std = case.tables.bus.load_mean_mw, case.tables.bus.load_std_mw
    n_buses, n_stages = mean.shape
    return _table(
        {
            "bus_id": np.repeat(_ids(case.system.buses), n_stages),
            "stage_id": np.tile(_ids(case.horizon.stages), n_buses),
            "mean_mw": mean.ravel(),
            "std_mw": std.ravel(),
        }
    )


def _correlation(case: Case) -> dict[str, Any]:
    """No correlation at all is one profile without groups."""
    given = case.scenarios.correlation or Correlation({"default": ()}, "default")
    ids = {
        "inflow": _ids(case.system.hydros),
        "load": _ids(case.system.buses),
        "ncs": _ids(case.system.non_controllables),
    }
    profiles = {
        name: {
            "correlation_groups": [
                {
                    "name": group.name,
                    "entities": [
                        {"type": kind, "id": int(ids[kind][index])} for kind, index in group.entities
                    ],
                    "matrix": [list(row) for row in group.matrix],
                }
                for group in groups
            ]
        }
        for name, groups in given.profiles.items()
    }
    schedule = [
        {"stage_id": case.horizon.stages[t].id, "profile_name": name}
        for t, name in sorted(given.profile_of_stage.items())
    ]
    return {"method": "spectral", "profiles": profiles, "schedule": schedule}
