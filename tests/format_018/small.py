"""Small cases in the format of 0.18 that tests write: deterministic unless they say otherwise, with few numbers.

``Case018`` holds the files as plain data; tests change them before they are written.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.io.examples.parts import production
from penalties import penalties

DATE = "2000-01-01"
START = dt.date(2025, 1, 1)
NO_LIMIT = 1e6
TYPES = {"index": pa.uint32(), "date": pa.date32(), "id": pa.int32(), "lag": pa.int32()}
"""By the last word of a column's name; the others hold numbers."""
PENALTIES = penalties(
    (9000.0, 6000.0, 450.0, 520.0, 540.0, 700.0, 4000.0, 900.0),
    (0.01, 1e-9, 0.001),
    spillage_cost=1e-9,
    turbined_cost=0.0,
    diversion_cost=1e-9,
    inflow_nonnegativity_cost=1000.0,
)
"""Prices that matter little where a case does not violate anything."""


def dates(n_stages: int) -> list[dt.date]:
    """First days of months from January 2025 on, one more than there are stages."""
    return [dt.date(START.year + month // 12, month % 12 + 1, 1) for month in range(n_stages + 1)]


def limits(flow: float, power: float = NO_LIMIT, least: float = 0.0) -> dict[str, float]:
    """Limits of turbines."""
    return {
        "min_turbined_m3s": least,
        "max_turbined_m3s": flow,
        "min_generation_mw": 0.0,
        "max_generation_mw": power,
    }


@dataclass
class Case018:
    """A case: hours of the blocks of every stage, and the load of every bus (MW)."""

    hours: Sequence[Sequence[float]]
    loads: Sequence[float] = (0.0,)
    inflows: dict[int, Sequence[float]] = field(default_factory=dict)
    """By hydro id, the mean of every stage."""
    documents: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    stage_ids: Sequence[int] | None = None
    """Of the statistics; 0, 1, 2, ... without."""
    meanings: dict[int, list[tuple[Any, str, Any]]] = field(default_factory=dict)
    """By constraint, terms of coefficient, variable and entity: what its text says, for a second opinion."""
    right_sides: dict[int, float] = field(default_factory=dict)
    """By constraint whose text ends in ``<= number``, that number."""
    days: Sequence[int] | None = None
    """Of every stage; whole months without."""

    def __post_init__(self) -> None:
        days = dates(len(self.hours))
        if self.days is not None:
            days = [START + dt.timedelta(days=sum(self.days[:t])) for t in range(len(self.days) + 1)]
        stages = [
            {
                "id": index,
                "start_date": str(days[index]),
                "end_date": str(days[index + 1]),
                "num_openings": 1,
                "blocks": [{"id": k, "name": f"B{k}", "hours": each} for k, each in enumerate(blocks)],
            }
            for index, blocks in enumerate(self.hours)
        ]
        self.documents = {
            "config.json": {
                "training": {
                    "selection": {"method": "sampled", "forward_passes": 1},
                    "stopping_rules": [{"type": "iteration_limit", "limit": 20}],
                },
                "modeling": {"inflow_non_negativity": {"method": "none"}},
            },
            "penalties.json": copy.deepcopy(PENALTIES),
            "stages.json": {
                "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.0},
                "stages": stages,
            },
            "initial_conditions.json": {"storage": [], "filling_storage": []},
            "system/buses.json": {
                "buses": [
                    {"id": index, "name": f"BUS{index}", "operational_start_date": DATE}
                    for index in range(len(self.loads))
                ]
            },
            "system/lines.json": {"lines": []},
            "system/hydros.json": {"hydros": []},
            "system/hydro_production_models.json": {"production_models": []},
            "system/thermals.json": {"thermals": []},
            **self.documents,
        }

    def add_thermal(self, cost: float, most: float, bus: int = 0, least: float = 0.0, **more: Any) -> None:
        """A thermal plant; ids count from 0."""
        plants = self.documents["system/thermals.json"]["thermals"]
        plants.append(
            {
                "id": len(plants),
                "name": f"T{len(plants)}",
                "operational_start_date": DATE,
                "bus_id": bus,
                "generation": {"min_mw": least, "max_mw": most},
                "cost_per_mwh": cost,
                **more,
            }
        )

    def add_hydro(
        self,
        initial: float,
        most: float,
        *,
        least: float = 0.0,
        flow: float = NO_LIMIT,
        productivity: float = 1.0,
        downstream: int | None = None,
        inflow: Sequence[float] = (),
        **more: Any,
    ) -> dict[str, Any]:
        """A hydro plant with one unit group at bus 0; ids count from 0. Its entry, to be changed."""
        plants = self.documents["system/hydros.json"]["hydros"]
        number = len(plants)
        plant = {
            "id": number,
            "name": f"H{number}",
            "operational_start_date": DATE,
            "downstream_id": downstream,
            "reservoir": {"min_storage_hm3": least, "max_storage_hm3": most},
            "outflow": {"min_outflow_m3s": 0.0, "max_outflow_m3s": None},
            "generation": {"model": "constant_productivity", **limits(flow)},
            "unit_groups": [{"id": 0, "name": "G", "bus_id": 0, **limits(flow)}],
            **more,
        }
        plants.append(plant)
        kind = "filling_storage" if "filling" in more else "storage"
        self.documents["initial_conditions.json"][kind].append({"hydro_id": number, "value_hm3": initial})
        self.documents["system/hydro_production_models.json"]["production_models"].append(
            production(number, productivity)
        )
        self.inflows[number] = inflow or [0.0] * len(self.hours)
        return plant

    def set_load_factors(self, *buses: Iterable[Iterable[float]]) -> None:
        """For each bus, from bus 0 on, the factors of the blocks of each stage."""
        self.documents["scenarios/load_factors.json"] = {
            "load_factors": [
                {
                    "bus_id": bus,
                    "stage_id": stage,
                    "block_factors": [{"block_id": k, "factor": factor} for k, factor in enumerate(factors)],
                }
                for bus, stages in enumerate(buses)
                for stage, factors in enumerate(stages)
            ]
        }

    def add_pump(
        self, source: int, target: int, bus: int, consumption: float, flow: tuple[float, float], **more: Any
    ) -> None:
        """A pumping station with these limits of its flow."""
        pumps = self.documents.setdefault("system/pumping_stations.json", {"pumping_stations": []})
        pumps["pumping_stations"].append(
            {
                "id": len(pumps["pumping_stations"]),
                "name": "P",
                "operational_start_date": DATE,
                "bus_id": bus,
                "source_hydro_id": source,
                "destination_hydro_id": target,
                "consumption_mw_per_m3s": consumption,
                "flow": dict(zip(("min_m3s", "max_m3s"), flow, strict=True)),
                **more,
            }
        )

    def add_source(self, most: float, **more: Any) -> None:
        """A non-controllable source at bus 0 without statistics."""
        sources = self.documents.setdefault(
            "system/non_controllable_sources.json", {"non_controllable_sources": []}
        )["non_controllable_sources"]
        sources.append(
            {
                "id": len(sources),
                "name": f"W{len(sources)}",
                "operational_start_date": DATE,
                "bus_id": 0,
                "max_generation_mw": most,
                **more,
            }
        )

    def constrain(self, expression: str, rows: list[dict[str, Any]], penalty: float | None = None) -> None:
        """A generic constraint and its bounds."""
        path = "constraints/generic_constraints.json"
        constraints = self.documents.setdefault(path, {"constraints": []})["constraints"]
        number = len(constraints)
        slack = {"enabled": False} if penalty is None else {"enabled": True, "penalty": penalty}
        constraints.append({"id": number, "name": f"C{number}", "expression": expression, "slack": slack})
        self.tables.setdefault("constraints/generic_constraint_bounds.parquet", []).extend(
            {"constraint_id": number, "block_id": None, "bound_lower": None, "bound_upper": None, **row}
            for row in rows
        )

    def all_tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of every Parquet file, statistics of loads and inflows included."""
        stages = range(len(self.hours))
        ids = self.stage_ids or stages
        load = [
            {"bus_id": bus, "stage_id": ids[stage], "mean_mw": mean, "std_mw": 0.0}
            for bus, mean in enumerate(self.loads)
            for stage in stages
        ]
        inflow = [
            {"hydro_id": hydro, "stage_id": ids[stage], "mean_m3s": means[stage], "std_m3s": 0.0}
            for hydro, means in self.inflows.items()
            for stage in stages
        ]
        return {
            "scenarios/load_seasonal_stats.parquet": load,
            "scenarios/inflow_seasonal_stats.parquet": inflow,
            **self.tables,
        }

    def write(self, folder: Path) -> Path:
        """Write every file."""
        for name in ("system", "scenarios", "constraints"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, document in self.documents.items():
            (folder / name).write_text(json.dumps(document))
        for name, rows in self.all_tables().items():
            if rows:
                pq.write_table(
                    _table(rows), folder / name, compression="zstd"
                )  # the public Cobre reads no other
        return folder


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows], _type(name)) for name in names})


def _type(name: str) -> pa.DataType:
    return TYPES.get(name.rpartition("_")[2], pa.float64())
