"""The example of ``cobre init`` in the format of the public Cobre 0.5.1, which tests change and break."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

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


def example_documents() -> dict[str, Any]:
    """Contents of the JSON files, by path in the case directory."""
    return {
        "config.json": {
            "training": {
                "forward_passes": 8,
                "tree_seed": 42,
                "stopping_rules": [
                    {"type": "iteration_limit", "limit": 60},
                    {"type": "bound_stalling", "iterations": 10, "tolerance": 1e-3},
                ],
            },
            "simulation": {"enabled": True, "num_scenarios": 200},
            "modeling": {"inflow_non_negativity": {"method": "penalty"}},
        },
        "penalties.json": _penalties(),
        "stages.json": _stages(),
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 1900.0}, {"hydro_id": 1, "value_hm3": 450.0}],
            "filling_storage": [],
            "past_inflows": [
                {"hydro_id": 0, "values_m3s": [290.0]},
                {"hydro_id": 1, "values_m3s": [108.0]},
            ],
        },
        **_system(),
        "scenarios/load_factors.json": {
            "load_factors": [
                {
                    "bus_id": bus,
                    "stage_id": stage,
                    "block_factors": [
                        {"block_id": block, "factor": factor} for block, (_, _, factor) in enumerate(BLOCKS)
                    ],
                }
                for bus in LOAD
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


def _penalties() -> dict[str, Any]:
    return {
        "bus": {
            "deficit_segments": [{"depth_mw": 100.0, "cost": 1500.0}, {"depth_mw": None, "cost": 5000.0}],
            "excess_cost": 0.1,
        },
        "line": {"exchange_cost": 0.5},
        "hydro": {
            "spillage_cost": 0.01,
            "fpha_turbined_cost": 0.05,
            "diversion_cost": 0.1,
            "turbined_violation_below_cost": 1000.0,
            "outflow_violation_below_cost": 1000.0,
            "outflow_violation_above_cost": 1000.0,
            "generation_violation_below_cost": 1000.0,
            "evaporation_violation_cost": 5000.0,
            "water_withdrawal_violation_cost": 2000.0,
            "storage_violation_below_cost": 10000.0,
            "filling_target_violation_cost": 20000.0,
            "inflow_nonnegativity_cost": 3000.0,
        },
        "non_controllable_source": {"curtailment_cost": 0.01},
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
                "num_scenarios": OPENINGS,
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
        "system/buses.json": {
            "buses": [{"id": 0, "name": "NORTH"}, {"id": 1, "name": "SOUTH"}, {"id": 2, "name": "EAST"}]
        },
        "system/lines.json": {
            "lines": [
                _line(0, "NORTH-SOUTH", 0, 1, 620.0, 300.0, 2.0),
                _line(1, "SOUTH-EAST", 1, 2, 200.0, 200.0, 1.0),
            ]
        },
        "system/hydros.json": {
            "hydros": [
                {
                    **_hydro(0, "UPPER", 1, (300.0, 3200.0), 20.0, 0.95, 460.0),
                    "evaporation": {
                        "coefficients_mm": [140, 130, 125, 110, 95, 85, 90, 110, 125, 140, 145, 145]
                    },
                },
                _hydro(1, "LOWER", None, (120.0, 700.0), 45.0, 0.62, 640.0),
            ]
        },
        "system/thermals.json": {
            "thermals": [
                _thermal(0, "GAS", 1, 40.0, 260.0, 82.0),
                _thermal(1, "COAL", 1, 60.0, 220.0, 48.0),
                _thermal(2, "DIESEL", 2, 0.0, 150.0, 310.0),
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [{"id": 0, "name": "WIND", "bus_id": 2, "max_generation_mw": 220.0}]
        },
    }


def _line(
    line_id: int, name: str, source: int, target: int, direct: float, reverse: float, losses: float
) -> dict[str, Any]:
    return {
        "id": line_id,
        "name": name,
        "source_bus_id": source,
        "target_bus_id": target,
        "capacity": {"direct_mw": direct, "reverse_mw": reverse},
        "losses_percent": losses,
    }


def _hydro(
    hydro_id: int,
    name: str,
    downstream: int | None,
    storage: tuple[float, float],
    min_outflow: float,
    productivity: float,
    max_turbined: float,
) -> dict[str, Any]:
    return {
        "id": hydro_id,
        "name": name,
        "bus_id": 0,
        "downstream_id": downstream,
        "reservoir": {"min_storage_hm3": storage[0], "max_storage_hm3": storage[1]},
        "outflow": {"min_outflow_m3s": min_outflow, "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": productivity,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": max_turbined,
            "min_generation_mw": 0.0,
            "max_generation_mw": round(productivity * max_turbined, 3),
        },
    }


def _thermal(
    thermal_id: int, name: str, bus: int, lowest: float, highest: float, cost: float
) -> dict[str, Any]:
    return {
        "id": thermal_id,
        "name": name,
        "bus_id": bus,
        "generation": {"min_mw": lowest, "max_mw": highest},
        "cost_per_mwh": cost,
    }


def example_tables() -> dict[str, dict[str, list[Any]]]:
    """Columns of the Parquet files, by path in the case directory."""
    means = {0: UPPER_INFLOW, 1: LOWER_INFLOW}
    inflows = [(hydro, stage, means[hydro][stage]) for hydro in means for stage in MONTHS]
    loads = [(bus, stage, mean * LOAD_SEASON[stage]) for bus, mean in LOAD.items() for stage in MONTHS]
    return {
        "system/hydro_geometry.parquet": {
            "hydro_id": [0, 0, 0, 0],
            "volume_hm3": [300.0, 1000.0, 2000.0, 3200.0],
            "height_m": [412.0, 425.0, 437.0, 448.0],
            "area_km2": [38.0, 62.0, 90.0, 118.0],
        },
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [hydro for hydro, _, _ in inflows],
            "stage_id": [stage for _, stage, _ in inflows],
            "mean_m3s": [mean for _, _, mean in inflows],
            "std_m3s": [round(0.32 * mean, 6) for _, _, mean in inflows],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [hydro for hydro, _, _ in inflows],
            "stage_id": [stage for _, stage, _ in inflows],
            "lag": [1] * len(inflows),
            "coefficient": [0.6 if hydro == 0 else 0.5 for hydro, _, _ in inflows],
            "residual_std_ratio": [0.8 if hydro == 0 else 0.8660254037844386 for hydro, _, _ in inflows],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [bus for bus, _, _ in loads],
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
