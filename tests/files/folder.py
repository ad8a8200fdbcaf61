"""A case directory as its files say it, read with nothing of the package under test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]
Keyed = dict[tuple[int, int], Row]


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.start = self.document("config.json"), self.document("initial_conditions.json")
        self.penalties, self.horizon = self.document("penalties.json"), self.document("stages.json")
        self.stages = by_id(self.horizon["stages"])
        self.stage_ids = [stage["id"] for stage in self.stages]
        self.hours = [[block["hours"] for block in by_id(stage["blocks"])] for stage in self.stages]
        modeling = self.config.get("modeling", {}).get("inflow_non_negativity", {})
        self.non_negativity: str = modeling.get("method", "penalty")
        self._tables: dict[str, Keyed] = {}

        self.buses = self.entities("system/buses.json", "buses")
        self.lines = self.entities("system/lines.json", "lines")
        self.thermals = self.entities("system/thermals.json", "thermals")
        self.hydros = self.entities("system/hydros.json", "hydros")
        self.sources = self.entities("system/non_controllable_sources.json", "non_controllable_sources")
        self.stations = self.entities("system/pumping_stations.json", "pumping_stations")
        self.contracts = self.entities("system/energy_contracts.json", "contracts")
        self.constraints = self.listed("constraints/generic_constraints.json", "constraints")
        self.constraint_bounds = self.rows("constraints/generic_constraint_bounds.parquet")
        self.planes = self.rows("system/fpha_hyperplanes.parquet")
        self.geometry = self.rows("system/hydro_geometry.parquet")
        models = self.listed("system/hydro_production_models.json", "production_models")
        self.production = {model["hydro_id"]: model for model in models}
        self.loads = self.by_stage("scenarios/load_seasonal_stats.parquet", "bus_id")
        self.source_stats = self.by_stage("scenarios/non_controllable_stats.parquet", "ncs_id")
        self.load_factors = self.factors("scenarios/load_factors.json", "bus_id")
        self.source_factors = self.factors("scenarios/non_controllable_factors.json", "ncs_id")
        self.exchange_factors = self.factors("constraints/exchange_factors.json", "line_id")

    def document(self, name: str) -> Row:
        path = self.path / name
        return json.loads(path.read_text()) if path.exists() else {}

    def listed(self, name: str, key: str) -> list[Row]:
        return self.document(name).get(key, [])

    def entities(self, name: str, key: str) -> list[Row]:
        return by_id(self.listed(name, key))

    def rows(self, name: str) -> list[Row]:
        path = self.path / name
        return pq.read_table(path).to_pylist() if path.exists() else []

    def by_stage(self, name: str, key: str) -> Keyed:
        return {(row[key], row["stage_id"]): row for row in self.rows(name)}

    def factors(self, name: str, key: str) -> dict[tuple[int, int, int], Row]:
        return {
            (entry[key], entry["stage_id"], block["block_id"]): block
            for entry in self.listed(name, Path(name).stem)
            for block in entry["block_factors"]
        }

    def limit(self, table: str, entity: int, stage_id: int, name: str, base: Any) -> Any:
        """``name`` as ``constraints/`` has it for this stage, else ``base``."""
        if table not in self._tables:
            key = {"ncs": "ncs_id", "pumping": "station_id", "penalty_overrides_ncs": "source_id"}
            default = table.removeprefix("penalty_overrides_") + "_id"
            file = table if table.startswith("penalty") else f"{table}_bounds"
            self._tables[table] = self.by_stage(f"constraints/{file}.parquet", key.get(table, default))
        value = self._tables[table].get((entity, stage_id), {}).get(name)
        return base if value is None else value

    def hydro_cost(self, hydro: Row, stage_id: int, name: str) -> float:
        """The most specific level that gives ``name`` or, for one side of a violation, its common price."""
        common = name.replace("_pos_cost", "_cost").replace("_neg_cost", "_cost")
        levels: list[Mapping[str, Any]] = [hydro.get("penalties") or {}, self.penalties["hydro"]]
        for option in (name, common):
            value = self.limit("penalty_overrides_hydro", hydro["id"], stage_id, option, None)
            if value is not None:
                return value
        for level in levels:
            for option in (name, common):
                if level.get(option) is not None:
                    return level[option]
        assert name == "inflow_nonnegativity_cost", name
        return 1000.0


def by_id(entities: list[Row]) -> list[Row]:
    return sorted(entities, key=lambda entity: entity["id"])


def is_present(entity: Row, stage_id: int) -> bool:
    entry, leave = entity.get("entry_stage_id"), entity.get("exit_stage_id")
    return (entry is None or stage_id >= entry) and (leave is None or stage_id < leave)
