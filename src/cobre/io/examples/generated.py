"""Larger templates, drawn from a fixed seed: rivers of several plants, a ring of buses, thermals and wind.

Sizes and costs are of the order of a real system: reservoirs hold some months of inflow, hydro covers most of the load
in a wet month, and thermals rise in cost.
"""

from __future__ import annotations

import calendar
import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from cobre.io.examples.parts import DATE, bus, hydro, line, penalties, production, thermal

YEAR = 2026
BLOCKS = (("PEAK", 0.15, 1.2), ("MIDDLE", 0.5, 1.04), ("LIGHT", 0.35, 0.86))
PLANTS_PER_RIVER = 5
SEED = 2026


@dataclass(frozen=True)
class Size:
    """How large a template is."""

    plants: int
    buses: int
    thermals: int
    farms: int
    stages: int
    openings: int
    order: int
    """Lags of the inflow model."""
    passes: int
    iterations: int


MEDIUM = Size(
    plants=10, buses=4, thermals=12, farms=3, stages=12, openings=10, order=2, passes=8, iterations=40
)
NATIONAL = Size(
    plants=150, buses=5, thermals=90, farms=20, stages=60, openings=20, order=3, passes=20, iterations=60
)


@dataclass(frozen=True)
class _Plant:
    """What is drawn of a plant."""

    mean_m3s: float
    phase: float
    productivity: float
    turbined_m3s: float
    storage_hm3: float
    buses: tuple[int, ...]
    downstream: int | None

    def inflow(self, month: int) -> float:
        """Mean of a month, with one wet season a year."""
        wave = 1.0 + 0.6 * np.cos(2.0 * np.pi * (month - self.phase) / 12.0)
        return round(float(self.mean_m3s * wave), 3)


def generated_case(size: Size) -> tuple[dict[str, Any], dict[str, dict[str, list[Any]]]]:
    """Documents and tables of a template, the same every time."""
    draw = np.random.default_rng(SEED)
    plants = [_plant(draw, index, size) for index in range(size.plants)]
    hydro_mw = sum(plant.productivity * plant.mean_m3s for plant in plants)
    load = 1.25 * hydro_mw / size.buses
    costs = np.sort(np.round(draw.uniform(40.0, 420.0, size.thermals), 2))
    power = np.round(draw.uniform(0.4, 1.6, size.thermals) * 0.9 * hydro_mw / size.thermals, 2)
    farms = np.round(draw.uniform(0.5, 1.5, size.farms) * 0.2 * hydro_mw / size.farms, 2)
    documents = {
        "config.json": _config(size),
        "penalties.json": penalties(),
        "stages.json": _stages(size),
        "initial_conditions.json": _initial(size, plants),
        "system/buses.json": {"buses": [bus(index, f"AREA {index}") for index in range(size.buses)]},
        "system/lines.json": {"lines": _lines(size, load)},
        "system/hydros.json": {"hydros": [_hydro(index, plant) for index, plant in enumerate(plants)]},
        "system/hydro_production_models.json": {
            "production_models": [production(index, plant.productivity) for index, plant in enumerate(plants)]
        },
        "system/thermals.json": {
            "thermals": [
                thermal(
                    index, f"T{index:03d}", index % size.buses, 0.0, float(power[index]), float(costs[index])
                )
                for index in range(size.thermals)
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [
                {
                    "id": index,
                    "name": f"WIND {index}",
                    "operational_start_date": DATE,
                    "bus_id": index % size.buses,
                    "max_generation_mw": float(farms[index]),
                }
                for index in range(size.farms)
            ]
        },
        "scenarios/load_factors.json": _load_factors(size),
    }
    return documents, _tables(draw, size, plants, load)


def _plant(draw: Generator, index: int, size: Size) -> _Plant:
    place = index % PLANTS_PER_RIVER
    mean = float(np.round(draw.uniform(60.0, 320.0), 2))
    is_last = place == PLANTS_PER_RIVER - 1 or index == size.plants - 1
    area = (index // PLANTS_PER_RIVER) % size.buses
    is_split = place == PLANTS_PER_RIVER - 1 and size.buses > 1
    return _Plant(
        mean_m3s=mean,
        phase=float(np.round(draw.uniform(0.0, 3.0), 2)),
        productivity=float(np.round(draw.uniform(0.3, 1.1), 3)),
        turbined_m3s=float(np.round(mean * (place + 1) * draw.uniform(1.3, 1.8), 1)),
        storage_hm3=float(np.round(mean * 2.6 * draw.uniform(0.5, 6.0), 1)),
        buses=(area, (area + 1) % size.buses) if is_split else (area,),
        downstream=None if is_last else index + 1,
    )


def _hydro(index: int, plant: _Plant) -> dict[str, Any]:
    flows = {area: round(plant.turbined_m3s / len(plant.buses), 3) for area in plant.buses}
    power = round(plant.productivity * sum(flows.values()), 3)
    least = round(0.1 * plant.storage_hm3, 3)
    return hydro(index, f"H{index:03d}", plant.downstream, (least, plant.storage_hm3), 5.0, power, flows)


def _config(size: Size) -> dict[str, Any]:
    return {
        "training": {
            "selection": {"method": "sampled", "forward_passes": size.passes},
            "tree_seed": 42,
            "stopping_rules": [
                {"type": "iteration_limit", "limit": size.iterations},
                {"type": "bound_stalling", "iterations": 10, "tolerance": 1e-3},
            ],
        },
        "simulation": {"enabled": True, "selection": {"method": "sampled", "num_scenarios": 200}},
        "modeling": {"inflow_non_negativity": {"method": "penalty"}},
    }


def _stages(size: Size) -> dict[str, Any]:
    stages = []
    for index in range(size.stages):
        year, month = YEAR + index // 12, index % 12 + 1
        days = calendar.monthrange(year, month)[1]
        start = dt.date(year, month, 1)
        stages.append(
            {
                "id": index,
                "start_date": str(start),
                "end_date": str(start + dt.timedelta(days=days)),
                "season_id": month - 1,
                "blocks": [
                    {"id": block, "name": name, "hours": round(share * days * 24.0, 3)}
                    for block, (name, share, _) in enumerate(BLOCKS)
                ],
                "state_variables": {"storage": True, "inflow_lags": True},
                "num_openings": size.openings,
            }
        )
    seasons = [
        {"id": month, "label": calendar.month_name[month + 1], "month_start": month + 1}
        for month in range(12)
    ]
    return {
        "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.08},
        "season_definitions": {"cycle_type": "monthly", "seasons": seasons},
        "stages": stages,
    }


def _initial(size: Size, plants: list[_Plant]) -> dict[str, Any]:
    observed = []
    for index, plant in enumerate(plants):
        for lag in range(1, size.order + 1):
            month = 13 - lag
            start = dt.date(YEAR - 1, month, 1)
            days = calendar.monthrange(YEAR - 1, month)[1]
            observed.append(
                {
                    "hydro_id": index,
                    "start_date": str(start),
                    "end_date": str(start + dt.timedelta(days=days)),
                    "value_m3s": plant.inflow(month - 1),
                }
            )
    return {
        "storage": [
            {"hydro_id": index, "value_hm3": round(0.55 * plant.storage_hm3, 3)}
            for index, plant in enumerate(plants)
        ],
        "filling_storage": [],
        "recent_observations": observed,
    }


def _lines(size: Size, load: float) -> list[dict[str, Any]]:
    if size.buses < 2:
        return []
    ends = [(index, (index + 1) % size.buses) for index in range(size.buses if size.buses > 2 else 1)]
    capacity = round(0.4 * load, 1)
    return [line(index, f"AREA {a}-{b}", a, b, capacity, capacity, 2.0) for index, (a, b) in enumerate(ends)]


def _load_factors(size: Size) -> dict[str, Any]:
    return {
        "load_factors": [
            {
                "bus_id": index,
                "stage_id": stage,
                "block_factors": [
                    {"block_id": block, "factor": factor} for block, (_, _, factor) in enumerate(BLOCKS)
                ],
            }
            for index in range(size.buses)
            for stage in range(size.stages)
        ]
    }


def _tables(
    draw: Generator, size: Size, plants: list[_Plant], load: float
) -> dict[str, dict[str, list[Any]]]:
    inflows = [(plant, stage) for plant in range(size.plants) for stage in range(size.stages)]
    means = [plants[plant].inflow(stage % 12) for plant, stage in inflows]
    first = np.round(draw.uniform(0.35, 0.6, size.plants), 3)
    lags = [(plant, stage, lag) for plant, stage in inflows for lag in range(1, size.order + 1)]
    loads = [(area, stage) for area in range(size.buses) for stage in range(size.stages)]
    season = [round(1.0 + 0.05 * float(np.cos(2.0 * np.pi * month / 12.0)), 4) for month in range(12)]
    farms = [(farm, stage) for farm in range(size.farms) for stage in range(size.stages)]
    return {
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [plant for plant, _ in inflows],
            "stage_id": [stage for _, stage in inflows],
            "mean_m3s": means,
            "std_m3s": [round(0.3 * mean, 4) for mean in means],
        },
        "scenarios/inflow_ar_coefficients.parquet": {
            "hydro_id": [plant for plant, _, _ in lags],
            "stage_id": [stage for _, stage, _ in lags],
            "lag": [lag for _, _, lag in lags],
            "coefficient": [round(float(first[plant]) / 3.0 ** (lag - 1), 4) for plant, _, lag in lags],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [area for area, _ in loads],
            "stage_id": [stage for _, stage in loads],
            "mean_mw": [round(load * season[stage % 12], 3) for _, stage in loads],
            "std_mw": [round(0.02 * load, 3) for _ in loads],
        },
        "scenarios/non_controllable_stats.parquet": {
            "ncs_id": [farm for farm, _ in farms],
            "stage_id": [stage for _, stage in farms],
            "mean": [0.35] * len(farms),
            "std": [0.1] * len(farms),
        },
    }
