"""One small study in the format of the public Cobre 0.18 and in ours, to compare what both programs make of it.

Four months, one bus, two reservoirs in a row (ids 3 and 7) whose inflows remember the month before, two thermal plants.
The noises of all openings are given, so that both programs see the same tree.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from older_example import hydro_entry
from penalties import penalties

HYDROS = (3, 7)
COEFFICIENT = 0.5
OPENINGS = 3
FIRST = dt.date(2026, 1, 1)
N_STAGES = 4
NOISES = (-1.1, 0.2, 0.9, 0.6, -0.7, -0.1, 1.3, -0.4, 0.5, -1.2, 0.8, 0.1)


def month(offset: int) -> dt.date:
    years, index = divmod(FIRST.month - 1 + offset, 12)
    return dt.date(FIRST.year + years, index + 1, 1)


def stages(stage_range: range, openings_key: str) -> list[dict[str, Any]]:
    found = []
    for k in stage_range:
        start, end = month(k), month(k + 1)
        hours = 24.0 * (end - start).days
        found.append(
            {
                "id": k - stage_range.start,
                "start_date": start.isoformat(),
                "end_date": end.isoformat(),
                "season_id": start.month - 1,
                "blocks": [{"id": 0, "name": "ALL", "hours": hours}],
                "state_variables": {"storage": True, "inflow_lags": True},
                openings_key: OPENINGS if k else 1,
            }
        )
    return found


def hydro(number: int, downstream: int | None, max_storage: float, productivity: float) -> dict[str, Any]:
    return hydro_entry(
        *(number, f"H{number}", (5.0, max_storage), (0.0, 60.0), (0.0, 60.0 * productivity)),
        downstream=downstream,
        productivity=productivity,
    )


def thermal(number: int, max_mw: float, cost: float) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"T{number}",
        "bus_id": 0,
        "generation": {"min_mw": 0.0, "max_mw": max_mw},
        "cost_per_mwh": cost,
    }


PENALTIES = penalties(
    (9000.0, 6000.0, 450.0, 520.0, 540.0, 700.0, 4000.0, 900.0),
    (1.0, 1.0, 0.5),
    inflow_nonnegativity_cost=1000.0,
)
SEASONS = {
    "cycle_type": "monthly",
    "seasons": [{"id": k, "label": f"M{k + 1:02d}", "month_start": k + 1} for k in range(12)],
}


def documents(iterations: int, stage_range: range, openings_key: str, turbined_key: str) -> dict[str, Any]:
    """What both formats have in common."""
    hydro_penalties = {**PENALTIES["hydro"], turbined_key: 0.0}
    return {
        "config.json": {
            "modeling": {"inflow_non_negativity": {"method": "none"}},
            "training": {
                "tree_seed": 42,
                "stopping_rules": [{"type": "iteration_limit", "limit": iterations}],
            },
            "simulation": {"enabled": False},
        },
        "penalties.json": {**PENALTIES, "hydro": hydro_penalties},
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.1},
            "season_definitions": SEASONS,
            "stages": stages(stage_range, openings_key),
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": 3, "value_hm3": 60.0}, {"hydro_id": 7, "value_hm3": 25.0}],
            "filling_storage": [],
        },
        "system/buses.json": {"buses": [{"id": 0, "name": "BUS"}]},
        "system/lines.json": {"lines": []},
        "system/hydros.json": {"hydros": [hydro(3, 7, 120.0, 0.9), hydro(7, None, 50.0, 0.6)]},
        "system/thermals.json": {"thermals": [thermal(0, 15.0, 30.0), thermal(1, 25.0, 120.0)]},
    }


def tables(stage_range: range) -> dict[str, dict[str, list[Any]]]:
    """What both formats have in common; the first stage does not depend on the past."""
    n = len(stage_range)
    ids = [k for k in range(n) for _ in HYDROS]
    later = [k for k in range(n) for _ in HYDROS if k]
    openings = [(k, w) for k in range(n) for w in range(OPENINGS if stage_range[k] else 1)]
    noises = [(k, w, j) for k, w in openings for j in range(len(HYDROS))]
    return {
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [*HYDROS] * n,
            "stage_id": ids,
            "mean_m3s": [24.0, 9.0] * n,
            "std_m3s": [8.0, 3.0] * n,
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [*HYDROS] * (n - 1),
            "stage_id": later,
            "lag": [1] * len(later),
            "coefficient": [COEFFICIENT] * len(later),
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [0] * n,
            "stage_id": list(range(n)),
            "mean_mw": [52.0] * n,
            "std_mw": [0.0] * n,
        },
        "scenarios/noise_openings.parquet": {
            "stage_id": [k for k, _, _ in noises],
            "opening_index": [w for _, w, _ in noises],
            "entity_index": [j for _, _, j in noises],
            "value": [_noise(stage_range[k], w, j) for k, w, j in noises],
        },
    }


def _noise(stage: int, opening: int, entity: int) -> float:
    return NOISES[(5 * stage + 3 * opening + 7 * entity) % len(NOISES)] if stage else 0.0


def write_public(folder: Path, iterations: int = 60, stage_range: range = range(N_STAGES)) -> None:
    """The study as the public Cobre 0.18 reads it."""
    content = documents(iterations, stage_range, "num_openings", "turbined_cost")
    training = content["config.json"]["training"]
    training["selection"] = {"method": "sampled", "forward_passes": 2}
    training["scenario_source"] = {"seed": 7, "openings": {"source": "file"}}
    production = []
    for each in content["system/hydros.json"]["hydros"]:
        generation = each["generation"]
        productivity = generation.pop("productivity_mw_per_m3s")
        limits = {key: value for key, value in generation.items() if key != "model"}
        each["operational_start_date"] = "2000-01-01"
        each["unit_groups"] = [{"id": 0, "name": each["name"], "bus_id": each.pop("bus_id"), **limits}]
        ranges = [
            {
                "start_stage_id": 0,
                "end_stage_id": None,
                "model": "constant_productivity",
                "productivity_mw_per_m3s": productivity,
            }
        ]
        production.append({"hydro_id": each["id"], "selection_mode": "stage_ranges", "stage_ranges": ranges})
    content["system/hydro_production_models.json"] = {"production_models": production}
    for name in ("buses", "thermals"):
        for each in content[f"system/{name}.json"][name]:
            each["operational_start_date"] = "2000-01-01"
    found = tables(stage_range)
    found["scenarios/inflow_history.parquet"] = {
        "hydro_id": [*HYDROS],
        "start_date": [month(stage_range.start - 1)] * 2,
        "end_date": [month(stage_range.start)] * 2,
        "value_m3s": [20.0, 8.0],
    }
    _write(folder, content, found)


def write_ours(
    folder: Path, iterations: int = 60, stage_range: range = range(N_STAGES), **policy: Any
) -> None:
    """The study as we read it."""
    content = documents(iterations, stage_range, "num_scenarios", "fpha_turbined_cost")
    content["config.json"]["training"]["forward_passes"] = 2
    content["config.json"]["policy"] = policy
    content["initial_conditions.json"]["past_inflows"] = [
        {"hydro_id": 3, "values_m3s": [20.0]},
        {"hydro_id": 7, "values_m3s": [8.0]},
    ]
    found = tables(stage_range)
    coefficients = found["scenarios/inflow_ar_coefficients.parquet"]
    ratio = (1.0 - COEFFICIENT**2) ** 0.5
    coefficients["residual_std_ratio"] = [ratio] * len(coefficients["lag"])
    _write(folder, content, found)


INTEGERS = {"opening_index": pa.uint32(), "entity_index": pa.uint32()}


def _write(folder: Path, content: dict[str, Any], found: dict[str, dict[str, list[Any]]]) -> None:
    for name, document in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    for name, columns in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {key: pa.array(values, _type_of(key, values)) for key, values in columns.items()}
        pq.write_table(pa.table(arrays), path, compression="none")


def _type_of(key: str, values: list[Any]) -> pa.DataType | None:
    return INTEGERS.get(key, pa.int32() if isinstance(values[0], int) else None)
