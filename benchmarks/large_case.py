"""Write a synthetic study of any size in the case format: the same arguments give the same files.

    python benchmarks/large_case.py FOLDER [--hydros 150 --stages 60 --lags 3 ...]

Cascades of reservoirs and run-of-river plants, thermals on a cost curve, a ring of buses, blocks, PAR(p) inflows.
"""

from __future__ import annotations

import argparse
import datetime
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FIRST_YEAR = 2024


def _option(default: int, meaning: str) -> Any:
    return field(default=default, metadata={"help": f"{meaning} ({default})"})


@dataclass(frozen=True)
class Size:
    """What the command line may change."""

    hydros: int = _option(150, "hydro plants")
    buses: int = _option(5, "buses, in a ring")
    thermals: int = _option(100, "thermal plants")
    stages: int = _option(60, "months")
    blocks: int = _option(3, "load blocks of a stage")
    openings: int = _option(20, "scenarios of a stage in the backward pass")
    passes: int = _option(20, "trajectories of an iteration")
    iterations: int = _option(10, "iterations of the training")
    lags: int = _option(3, "the highest order of an inflow model; 0: inflows without memory")
    seed: int = _option(7, "of the numbers drawn for the study")


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root
        for name in ("system", "scenarios", "constraints"):
            (root / name).mkdir(parents=True, exist_ok=True)

    def json(self, name: str, value: object) -> None:
        (self._root / name).write_text(json.dumps(value, indent=1), encoding="utf-8")

    def table(self, name: str, **columns: Any) -> None:
        arrays = {
            key: pa.array(np.asarray(values, np.int32) if key.endswith("_id") or key == "lag" else values)
            for key, values in columns.items()
        }
        pq.write_table(pa.table(arrays), self._root / "scenarios" / f"{name}.parquet", compression="zstd")


def write_large_case(root: Path, size: Size) -> None:
    """All files of the case."""
    rng = np.random.default_rng(size.seed)
    out = _Folder(root)
    months = [_month(FIRST_YEAR * 12 + s) for s in range(size.stages + 1)]
    _write_stages(out, size, months)
    water = _write_hydros(out, size, rng)
    demand = float((water["flow"] * water["power"]).sum()) * 1.15
    _write_thermals(out, size, rng, demand)
    _write_network(out, size, demand)
    _write_inflows(out, size, rng, water, months)
    _write_load(out, size, rng, demand)
    _write_config(out, size)


def _month(number: int) -> datetime.date:
    year, month = divmod(number, 12)
    return datetime.date(year, month + 1, 1)


def _write_stages(out: _Folder, size: Size, months: list[datetime.date]) -> None:
    if size.blocks <= 3:
        share = np.array([0.15, 0.55, 0.30] if size.blocks > 1 else [1.0])[: size.blocks]
    else:
        share = np.full(size.blocks, 1 / size.blocks)
    share = share / share.sum()

    def stage(s: int) -> dict[str, object]:
        hours = 24.0 * (months[s + 1] - months[s]).days
        blocks = [{"id": b, "name": f"B{b}", "hours": float(hours * share[b])} for b in range(size.blocks)]
        return {
            **_period(s, months[s], months[s + 1]),
            "num_scenarios": size.openings,
            "blocks": blocks,
        }

    before = [
        _period(-k, _month(FIRST_YEAR * 12 - k), _month(FIRST_YEAR * 12 - k + 1))
        for k in range(size.lags, 0, -1)
    ]
    seasons = [{"id": m, "label": f"M{m + 1:02}", "month_start": m + 1} for m in range(12)]
    out.json(
        "stages.json",
        {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.08},
            "pre_study_stages": before,
            "season_definitions": {"cycle_type": "monthly", "seasons": seasons},
            "stages": [stage(s) for s in range(size.stages)],
        },
    )


def _period(stage: int, start: datetime.date, end: datetime.date) -> dict[str, object]:
    return {"id": stage, "start_date": str(start), "end_date": str(end), "season_id": start.month - 1}


def _write_hydros(out: _Folder, size: Size, rng: np.random.Generator) -> dict[str, Any]:
    n = size.hydros
    bus = rng.integers(0, size.buses, n)
    scale = rng.lognormal(5.5, 0.9, n)
    has_tank = rng.random(n) < 0.5
    down = np.array([h + 1 if h + 1 < n and rng.random() < 0.8 else -1 for h in range(n)])
    power = np.round(rng.uniform(0.2, 1.0, n), 4)
    capacity = np.where(has_tank, scale * rng.uniform(8, 40, n), scale * 0.05).round(3)
    flow = np.zeros(n)
    for h in range(n):
        flow[h] += scale[h]
        if down[h] >= 0:
            flow[down[h]] += flow[h] * 0.98
    turbine = (flow * rng.uniform(1.2, 1.9, n)).round(3)

    def hydro(h: int) -> dict[str, object]:
        return {
            "id": h,
            "name": f"H{h:03}",
            "bus_id": int(bus[h]),
            "downstream_id": int(down[h]) if down[h] >= 0 else None,
            "reservoir": {"min_storage_hm3": 0.0, "max_storage_hm3": float(capacity[h])},
            "outflow": {"min_outflow_m3s": float(round(scale[h] * 0.1, 3)), "max_outflow_m3s": None},
            "generation": {
                "model": "constant_productivity",
                "productivity_mw_per_m3s": float(power[h]),
                "min_turbined_m3s": 0.0,
                "max_turbined_m3s": float(turbine[h]),
                "min_generation_mw": 0.0,
                "max_generation_mw": float(turbine[h] * power[h]),
            },
        }

    out.json("system/hydros.json", {"hydros": [hydro(h) for h in range(n)]})
    return {"scale": scale, "power": power, "capacity": capacity, "flow": flow}


def _write_thermals(out: _Folder, size: Size, rng: np.random.Generator, demand: float) -> None:
    cost = np.sort(rng.uniform(20, 900, size.thermals)).round(2)
    limit = rng.lognormal(0, 0.7, size.thermals)
    limit = (limit / limit.sum() * demand * 0.45).round(2)
    thermals = [
        {
            "id": k,
            "name": f"T{k:03}",
            "bus_id": int(rng.integers(0, size.buses)),
            "generation": {"min_mw": 0.0, "max_mw": float(limit[k])},
            "cost_per_mwh": float(cost[k]),
        }
        for k in range(size.thermals)
    ]
    out.json("system/thermals.json", {"thermals": thermals})


def _write_network(out: _Folder, size: Size, demand: float) -> None:
    segments = [{"depth_mw": None, "cost": 5000.0}]
    buses = [{"id": b, "name": f"BUS{b}", "deficit_segments": segments} for b in range(size.buses)]
    out.json("system/buses.json", {"buses": buses})
    n_lines = size.buses if size.buses > 2 else size.buses - 1
    lines = [
        {
            "id": k,
            "name": f"L{k}",
            "source_bus_id": k,
            "target_bus_id": (k + 1) % size.buses,
            "capacity": {"direct_mw": demand * 0.12, "reverse_mw": demand * 0.12},
            "exchange_cost": 0.1,
        }
        for k in range(n_lines)
    ]
    out.json("system/lines.json", {"lines": lines})
    hydro = {
        "spillage_cost": 0.01,
        "fpha_turbined_cost": 0.05,
        "diversion_cost": 0.1,
        "storage_violation_below_cost": 10000.0,
        "filling_target_violation_cost": 50000.0,
        "turbined_violation_below_cost": 500.0,
        "outflow_violation_below_cost": 500.0,
        "outflow_violation_above_cost": 500.0,
        "generation_violation_below_cost": 1000.0,
        "evaporation_violation_cost": 5000.0,
        "water_withdrawal_violation_cost": 1000.0,
        "inflow_nonnegativity_cost": 1000.0,
    }
    out.json(
        "penalties.json",
        {
            "bus": {"deficit_segments": segments, "excess_cost": 100.0},
            "line": {"exchange_cost": 0.1},
            "hydro": hydro,
            "non_controllable_source": {"curtailment_cost": 0.005},
        },
    )


def _write_inflows(
    out: _Folder, size: Size, rng: np.random.Generator, water: dict[str, Any], months: list[datetime.date]
) -> None:
    scale, capacity, n = water["scale"], water["capacity"], size.hydros
    season = 1 + 0.6 * np.cos(2 * np.pi * (np.arange(12) - 1) / 12)
    mean = np.array([[scale[h] * season[months[s].month - 1] for s in range(size.stages)] for h in range(n)])
    past = [
        {
            "hydro_id": h,
            "values_m3s": [float(scale[h] * season[-k % 12] * 0.95) for k in range(1, size.lags + 1)],
        }
        for h in range(n)
    ]
    out.json(
        "initial_conditions.json",
        {
            "storage": [{"hydro_id": h, "value_hm3": float(capacity[h] * 0.6)} for h in range(n)],
            "filling_storage": [],
            "past_inflows": past,
        },
    )
    plants, stages = np.repeat(np.arange(n), size.stages), np.tile(np.arange(size.stages), n)
    out.table(
        "inflow_seasonal_stats",
        hydro_id=plants,
        stage_id=stages,
        mean_m3s=mean.ravel(),
        std_m3s=(mean * 0.35).ravel(),
    )
    if size.lags:
        _write_lags(out, size, rng)


def _write_lags(out: _Folder, size: Size, rng: np.random.Generator) -> None:
    order = rng.integers(1, size.lags + 1, size.hydros)
    rows = [
        (h, s, k + 1, round(0.5 * 0.5**k, 6), float(np.sqrt(1 - 0.5**2)))
        for h in range(size.hydros)
        for s in range(size.stages)
        for k in range(order[h])
    ]
    hydro, stage, lag, coefficient, ratio = (list(column) for column in zip(*rows, strict=True))
    out.table(
        "inflow_ar_coefficients",
        hydro_id=hydro,
        stage_id=stage,
        lag=lag,
        coefficient=coefficient,
        residual_std_ratio=ratio,
    )


def _write_load(out: _Folder, size: Size, rng: np.random.Generator, demand: float) -> None:
    part = rng.dirichlet(np.full(size.buses, 5.0))
    bus, stage = np.repeat(np.arange(size.buses), size.stages), np.tile(np.arange(size.stages), size.buses)
    mean = part[bus] * demand * (1 + 0.05 * np.sin(2 * np.pi * stage / 12))
    out.table("load_seasonal_stats", bus_id=bus, stage_id=stage, mean_mw=mean, std_mw=np.zeros(len(bus)))


def _write_config(out: _Folder, size: Size) -> None:
    source = {"seed": 42, **{name: {"scheme": "in_sample"} for name in ("inflow", "load", "ncs")}}
    out.json(
        "config.json",
        {
            "training": {
                "forward_passes": size.passes,
                "stopping_rules": [{"type": "iteration_limit", "limit": size.iterations}],
                "scenario_source": source,
            },
            "simulation": {"enabled": False, "num_scenarios": 100},
            "modeling": {"inflow_non_negativity": {"method": "penalty"}},
        },
    )


def main() -> None:
    """Write the case that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    for each in fields(Size):
        parser.add_argument(
            f"--{each.name}", type=int, default=each.default, metavar="N", help=each.metadata["help"]
        )
    options = vars(parser.parse_args())
    write_large_case(options.pop("folder"), Size(**options))


if __name__ == "__main__":
    main()
