"""Studies of one reservoir and three thermal plants whose stages have different lengths, as case folders."""

from __future__ import annotations

import calendar
import datetime as dt

from case_folders import CaseFolder
from older_example import hydro_entry
from penalties import penalties

SQRT_3_4 = 0.75**0.5
"""Deviation of the noise of an AR(1) with coefficient 0.5, as a share of the whole deviation."""

MONTHS = [{"id": m, "label": f"m{m + 1}", "month_start": m + 1} for m in range(12)]
MONTHS_AND_QUARTERS = [
    *(
        {
            "id": m,
            "label": f"m{m + 1}",
            "month_start": m + 1,
            "day_start": 1,
            "month_end": m + 1,
            "day_end": calendar.monthrange(2001, m + 1)[1],
        }
        for m in range(12)
    ),
    *(
        {
            "id": 12 + q,
            "label": f"q{q + 1}",
            "month_start": 3 * q + 1,
            "day_start": 1,
            "month_end": 3 * q + 3,
            "day_end": 31 if q in (0, 3) else 30,
        }
        for q in range(4)
    ),
]
PENALTIES = penalties(
    (10000.0, 6000.0, 500.0, 500.0, 500.0, 1000.0, 5000.0, 1000.0),
    (0.01, 0.01, 0.005),
    fpha_turbined_cost=0.02,
)


def stage(stage_id, start, end, season, openings=1, **more):
    """A stage with one block of as many hours as its dates have."""
    hours = 24.0 * (dt.date.fromisoformat(end) - dt.date.fromisoformat(start)).days
    return {
        "id": stage_id,
        "start_date": start,
        "end_date": end,
        "season_id": season,
        "blocks": [{"id": 0, "name": "B", "hours": hours}],
        "num_scenarios": openings,
        "state_variables": {"storage": True, "inflow_lags": True},
        **more,
    }


def reservoir_case(
    path, stages, statistics, *, phi=0.5, past=(), cycle="custom", seasons=MONTHS_AND_QUARTERS
):
    """A case whose inflow model has one lag in every stage.

    ``statistics`` has mean and deviation by stage id, before the study too. Turbined water costs a little: the plant
    has one plane with 1 MW per m³/s.
    """
    ids = [each["id"] for each in stages]
    documents = {
        "config.json": {
            "training": {
                "forward_passes": 2,
                "tree_seed": 42,
                "stopping_rules": [{"type": "iteration_limit", "limit": 60}],
            },
            "modeling": {"inflow_non_negativity": {"method": "none"}},
        },
        "penalties.json": PENALTIES,
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.0},
            "season_definitions": {"cycle_type": cycle, "seasons": seasons},
            "stages": stages,
        },
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 40.0}],
            "filling_storage": [],
            "past_inflows": [{"hydro_id": 0, "values_m3s": list(past)}],
        },
        "system/buses.json": {"buses": [{"id": 0, "name": "B"}]},
        "system/lines.json": {"lines": []},
        "system/thermals.json": {
            "thermals": [
                {
                    "id": i,
                    "name": f"T{i}",
                    "bus_id": 0,
                    "generation": {"min_mw": 0.0, "max_mw": size},
                    "cost_per_mwh": cost,
                }
                for i, (size, cost) in enumerate([(25.0, 40.0), (25.0, 90.0), (20.0, 300.0)])
            ]
        },
        "system/hydros.json": {"hydros": [hydro_entry(0, "H0", (0.0, 150.0), (0.0, 70.0), (0.0, 10000.0))]},
        "system/hydro_production_models.json": {
            "production_models": [
                {
                    "hydro_id": 0,
                    "selection_mode": "stage_ranges",
                    "stage_ranges": [
                        {
                            "start_stage_id": ids[0],
                            "end_stage_id": None,
                            "model": "fpha",
                            "fpha_config": {"source": "precomputed"},
                        }
                    ],
                }
            ]
        },
    }
    tables = {
        "system/fpha_hyperplanes.parquet": {
            "hydro_id": [0],
            "stage_id": [None],
            "plane_id": [0],
            "gamma_0": [0.0],
            "gamma_v": [0.0],
            "gamma_q": [1.0],
            "gamma_s": [0.0],
        },
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [0] * len(statistics),
            "stage_id": list(statistics),
            "mean_m3s": [mean for mean, _ in statistics.values()],
            "std_m3s": [std for _, std in statistics.values()],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [0] * len(ids),
            "stage_id": ids,
            "lag": [1] * len(ids),
            "coefficient": [phi] * len(ids),
            "residual_std_ratio": [(1.0 - phi * phi) ** 0.5] * len(ids),
        },
    }
    return CaseFolder(path, documents, tables)


def with_load(case, loads):
    """Mean loads in MW, one per stage."""
    ids = [each["id"] for each in case.documents["stages.json"]["stages"]]
    case.tables["scenarios/load_seasonal_stats.parquet"] = {
        "bus_id": [0] * len(ids),
        "stage_id": ids,
        "mean_mw": loads,
        "std_mw": [0.0] * len(ids),
    }
    return case


def with_openings(case, noise):
    """A given tree: ``noise[t]`` has the η of the reservoir in each opening of the stage at index ``t``."""
    stages = case.documents["stages.json"]["stages"]
    rows = [
        (each["id"], o, value)
        for each, values in zip(stages, noise, strict=True)
        for o, value in enumerate(values)
    ]
    case.tables["scenarios/noise_openings.parquet"] = {
        "stage_id": [row[0] for row in rows],
        "opening_index": [row[1] for row in rows],
        "entity_index": [0] * len(rows),
        "value": [row[2] for row in rows],
    }
    return case
