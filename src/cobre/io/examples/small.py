"""The smallest template of ``cobre init``: a year of a hydrothermal system with random inflows, load and wind.

A river with two plants in the north, most of the load in the south, wind in the east. The lower plant feeds two buses.
The wet season ends in April, so water has to be kept for the dry months; gas, coal and diesel fill what is missing.
"""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

from cobre.io.examples.parts import DATE, bus, hydro, line, penalties, production, thermal

YEAR = 2026
OPENINGS = 8
MONTHS = range(12)
BLOCKS = (("PEAK", 0.15, 1.22), ("MIDDLE", 0.50, 1.03), ("LIGHT", 0.35, 0.86))
"""Name, share of the hours, load relative to the mean."""

UPPER_INFLOW = (380.0, 410.0, 360.0, 260.0, 180.0, 130.0, 105.0, 90.0, 95.0, 130.0, 210.0, 310.0)
LOWER_INFLOW = (140.0, 150.0, 130.0, 95.0, 65.0, 45.0, 36.0, 30.0, 33.0, 48.0, 78.0, 115.0)
LOAD = {0: 180.0, 1: 560.0, 2: 260.0}
LOAD_SEASON = (1.04, 1.05, 1.03, 0.99, 0.96, 0.95, 0.95, 0.97, 0.99, 1.01, 1.02, 1.04)
WIND = (0.26, 0.24, 0.27, 0.31, 0.36, 0.42, 0.46, 0.48, 0.45, 0.39, 0.33, 0.29)


def small_documents() -> dict[str, Any]:
    """Contents of the JSON files, by path in the case directory."""
    return {
        "config.json": {
            "training": {
                "selection": {"method": "sampled", "forward_passes": 8},
                "tree_seed": 42,
                "stopping_rules": [
                    {"type": "iteration_limit", "limit": 60},
                    {"type": "bound_stalling", "iterations": 10, "tolerance": 1e-3},
                ],
            },
            "simulation": {"enabled": True, "selection": {"method": "sampled", "num_scenarios": 200}},
            "modeling": {"inflow_non_negativity": {"method": "penalty"}},
        },
        "penalties.json": penalties(),
        "stages.json": _stages(),
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 1900.0}, {"hydro_id": 1, "value_hm3": 450.0}],
            "filling_storage": [],
            "recent_observations": [_december(0, 290.0), _december(1, 108.0)],
        },
        **_system(),
        "scenarios/load_factors.json": {
            "load_factors": [
                {
                    "bus_id": node,
                    "stage_id": stage,
                    "block_factors": [
                        {"block_id": block, "factor": factor} for block, (_, _, factor) in enumerate(BLOCKS)
                    ],
                }
                for node in LOAD
                for stage in MONTHS
            ]
        },
        "scenarios/correlation.json": {
            "method": "spectral",
            "profiles": {
                "default": {
                    "correlation_groups": [
                        {
                            "name": "river",
                            "entities": [{"type": "inflow", "id": 0}, {"type": "inflow", "id": 1}],
                            "matrix": [[1.0, 0.7], [0.7, 1.0]],
                        }
                    ]
                }
            },
        },
    }


def _december(plant: int, mean: float) -> dict[str, Any]:
    """What was observed in the month before the study: lags start from it."""
    return {
        "hydro_id": plant,
        "start_date": f"{YEAR - 1}-12-01",
        "end_date": f"{YEAR}-01-01",
        "value_m3s": mean,
    }


def _stages() -> dict[str, Any]:
    stages = []
    for month in MONTHS:
        start = dt.date(YEAR, month + 1, 1)
        days = calendar.monthrange(YEAR, month + 1)[1]
        stages.append(
            {
                "id": month,
                "start_date": start.isoformat(),
                "end_date": (start + dt.timedelta(days=days)).isoformat(),
                "season_id": month,
                "blocks": [
                    {"id": block, "name": name, "hours": round(share * days * 24.0, 3)}
                    for block, (name, share, _) in enumerate(BLOCKS)
                ],
                "state_variables": {"storage": True, "inflow_lags": True},
                "num_openings": OPENINGS,
            }
        )
    return {
        "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.08},
        "season_definitions": {
            "cycle_type": "monthly",
            "seasons": [
                {"id": month, "label": calendar.month_name[month + 1], "month_start": month + 1}
                for month in MONTHS
            ],
        },
        "stages": stages,
    }


def _system() -> dict[str, Any]:
    return {
        "system/buses.json": {"buses": [bus(0, "NORTH"), bus(1, "SOUTH"), bus(2, "EAST")]},
        "system/lines.json": {
            "lines": [
                line(0, "NORTH-SOUTH", 0, 1, 620.0, 300.0, 2.0),
                line(1, "SOUTH-EAST", 1, 2, 200.0, 200.0, 1.0),
            ]
        },
        "system/hydros.json": {
            "hydros": [
                {
                    **hydro(0, "UPPER", 1, (300.0, 3200.0), 20.0, 437.0, {0: 460.0}),
                    "evaporation": {
                        "coefficients_mm": [140, 130, 125, 110, 95, 85, 90, 110, 125, 140, 145, 145]
                    },
                },
                hydro(1, "LOWER", None, (120.0, 700.0), 45.0, 396.8, {0: 400.0, 1: 240.0}),
            ]
        },
        "system/hydro_production_models.json": {
            "production_models": [production(0, 0.95), production(1, 0.62)]
        },
        "system/thermals.json": {
            "thermals": [
                thermal(0, "GAS", 1, 40.0, 260.0, 82.0),
                thermal(1, "COAL", 1, 60.0, 220.0, 48.0),
                thermal(2, "DIESEL", 2, 0.0, 150.0, 310.0),
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [
                {
                    "id": 0,
                    "name": "WIND",
                    "operational_start_date": DATE,
                    "bus_id": 2,
                    "max_generation_mw": 220.0,
                }
            ]
        },
    }


def small_tables() -> dict[str, dict[str, list[Any]]]:
    """Columns of the Parquet files, by path in the case directory."""
    means = {0: UPPER_INFLOW, 1: LOWER_INFLOW}
    inflows = [(plant, stage, means[plant][stage]) for plant in means for stage in MONTHS]
    loads = [(node, stage, mean * LOAD_SEASON[stage]) for node, mean in LOAD.items() for stage in MONTHS]
    return {
        "system/hydro_geometry.parquet": {
            "hydro_id": [0, 0, 0, 0],
            "volume_hm3": [300.0, 1000.0, 2000.0, 3200.0],
            "height_m": [412.0, 425.0, 437.0, 448.0],
            "area_km2": [38.0, 62.0, 90.0, 118.0],
        },
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [plant for plant, _, _ in inflows],
            "stage_id": [stage for _, stage, _ in inflows],
            "mean_m3s": [mean for _, _, mean in inflows],
            "std_m3s": [round(0.32 * mean, 6) for _, _, mean in inflows],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [plant for plant, _, _ in inflows],
            "stage_id": [stage for _, stage, _ in inflows],
            "lag": [1] * len(inflows),
            "coefficient": [0.6 if plant == 0 else 0.5 for plant, _, _ in inflows],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [node for node, _, _ in loads],
            "stage_id": [stage for _, stage, _ in loads],
            "mean_mw": [round(mean, 6) for _, _, mean in loads],
            "std_mw": [round(0.03 * mean, 6) for _, _, mean in loads],
        },
        "scenarios/non_controllable_stats.parquet": {
            "ncs_id": [0] * len(WIND),
            "stage_id": list(MONTHS),
            "mean": list(WIND),
            "std": [0.08] * len(WIND),
        },
        "constraints/hydro_bounds.parquet": {
            "hydro_id": [0] * len(MONTHS),
            "stage_id": list(MONTHS),
            "water_withdrawal_m3s": [4.0] * len(MONTHS),
        },
    }
