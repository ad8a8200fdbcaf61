"""Entries that the files of all templates are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DATE = "2000-01-01"
"""When everything began to operate."""


def penalties() -> dict[str, Any]:
    """``penalties.json``: prices in a sensible order."""
    return {
        "bus": {
            "deficit_segments": [{"depth_mw": 100.0, "cost": 1500.0}, {"depth_mw": None, "cost": 5000.0}],
            "excess_cost": 0.1,
        },
        "line": {"exchange_cost": 0.5},
        "hydro": {
            "spillage_cost": 0.01,
            "turbined_cost": 0.005,
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


def _entity(entity_id: int, name: str) -> dict[str, Any]:
    return {"id": entity_id, "name": name, "operational_start_date": DATE}


def bus(bus_id: int, name: str) -> dict[str, Any]:
    """A node of the network."""
    return _entity(bus_id, name)


def line(
    line_id: int, name: str, source: int, target: int, direct: float, reverse: float, losses: float
) -> dict[str, Any]:
    """A link between two buses."""
    return {
        **_entity(line_id, name),
        "source_bus_id": source,
        "target_bus_id": target,
        "capacity": {"direct_mw": direct, "reverse_mw": reverse},
        "losses_percent": losses,
    }


def thermal(
    thermal_id: int, name: str, at: int, lowest: float, highest: float, cost: float
) -> dict[str, Any]:
    """A thermal plant at a bus."""
    return {
        **_entity(thermal_id, name),
        "bus_id": at,
        "generation": {"min_mw": lowest, "max_mw": highest},
        "cost_per_mwh": cost,
    }


def hydro(
    hydro_id: int,
    name: str,
    downstream: int | None,
    storage: tuple[float, float],
    min_outflow: float,
    max_power: float,
    max_turbined: Mapping[int, float],
) -> dict[str, Any]:
    """A plant; ``max_turbined`` has its turbine flow by bus, each with its part of the power."""
    flow = sum(max_turbined.values())
    groups = [
        {
            "id": group,
            "name": f"{name} {chr(ord('A') + group)}",
            "bus_id": at,
            **_limits(part, round(max_power * part / flow, 6)),
        }
        for group, (at, part) in enumerate(max_turbined.items())
    ]
    return {
        **_entity(hydro_id, name),
        "downstream_id": downstream,
        "reservoir": {"min_storage_hm3": storage[0], "max_storage_hm3": storage[1]},
        "outflow": {"min_outflow_m3s": min_outflow, "max_outflow_m3s": None},
        "generation": {"model": "constant_productivity", **_limits(flow, max_power)},
        "unit_groups": groups,
    }


def _limits(flow: float, power: float) -> dict[str, float]:
    return {
        "min_turbined_m3s": 0.0,
        "max_turbined_m3s": flow,
        "min_generation_mw": 0.0,
        "max_generation_mw": power,
    }


def production(hydro_id: int, productivity: float) -> dict[str, Any]:
    """The entry of a plant with one productivity in ``hydro_production_models.json``."""
    return {
        "hydro_id": hydro_id,
        "selection_mode": "stage_ranges",
        "stage_ranges": [
            {
                "start_stage_id": 0,
                "end_stage_id": None,
                "model": "constant_productivity",
                "productivity_mw_per_m3s": productivity,
            }
        ],
    }
