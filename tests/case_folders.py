"""Case directories that tests write and then change: one with most of the format's files, and tools to break it."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from older_example import example_documents, example_tables, hydro_entry

INTEGERS = ("lag", "opening_index", "entity_index")


def full_documents() -> dict[str, Any]:
    """JSON files of a study that uses every file of the format and everything that is modelled."""
    documents = copy.deepcopy(example_documents())
    hydros = documents["system/hydros.json"]["hydros"]
    hydros[0]["diversion"] = {"downstream_id": 2, "max_flow_m3s": 15.0}
    hydros[1]["penalties"] = {"spillage_cost": 0.02, "evaporation_violation_cost": 4000.0}
    hydros.append(
        hydro_entry(
            *(2, "SIDE", (0.0, 150.0), (1.0, 90.0), (0.5, 80.0)),
            bus=2,
            outflow=(0.0, 200.0),
            entry_stage_id=0,
            exit_stage_id=12,
        )
    )
    documents["initial_conditions.json"]["storage"].append({"hydro_id": 2, "value_hm3": 60.0})
    documents["initial_conditions.json"]["past_inflows"].append({"hydro_id": 2, "values_m3s": [20.0]})
    documents["stages.json"]["pre_study_stages"] = [
        {"id": -1, "start_date": "2025-12-01", "end_date": "2026-01-01", "season_id": 11}
    ]
    documents["stages.json"]["stages"][3]["risk_measure"] = {"cvar": {"alpha": 0.25, "lambda": 0.5}}
    documents["stages.json"]["stages"][4]["sampling_method"] = "lhs"
    documents["stages.json"]["policy_graph"]["transitions"] = [
        {
            "source_id": stage,
            "target_id": stage + 1,
            "probability": 1.0,
            "annual_discount_rate_override": 0.12 if stage == 5 else None,
        }
        for stage in range(11)
    ]
    documents["system/buses.json"]["buses"][2]["deficit_segments"] = [{"depth_mw": None, "cost": 2500.0}]
    documents["system/lines.json"]["lines"][1].update(exchange_cost=0.75, entry_stage_id=2, exit_stage_id=10)
    documents["system/thermals.json"]["thermals"][2].update(entry_stage_id=1, exit_stage_id=11)
    documents["system/non_controllable_sources.json"]["non_controllable_sources"] += [
        {
            "id": 5,
            "name": "SUN",
            "bus_id": 1,
            "max_generation_mw": 50.0,
            "curtailment_cost": 0.02,
            "entry_stage_id": 3,
        }
    ]
    documents["system/pumping_stations.json"] = {
        "pumping_stations": [
            {
                "id": 0,
                "name": "LIFT",
                "bus_id": 0,
                "source_hydro_id": 1,
                "destination_hydro_id": 0,
                "consumption_mw_per_m3s": 0.8,
                "flow": {"min_m3s": 0.0, "max_m3s": 25.0},
            }
        ]
    }
    documents["system/energy_contracts.json"] = {
        "contracts": [
            _contract(0, "BUY", 1, "import", 140.0, 80.0),
            _contract(1, "SELL", 0, "export", -15.0, 60.0),
        ]
    }
    documents["system/hydro_production_models.json"] = {
        "production_models": [
            {
                "hydro_id": 0,
                "selection_mode": "stage_ranges",
                "stage_ranges": [
                    {
                        "start_stage_id": 2,
                        "end_stage_id": 4,
                        "model": "constant_productivity",
                        "productivity_override": 0.9,
                    },
                    {"start_stage_id": 8, "end_stage_id": None, "model": "linearized_head"},
                ],
            },
            {
                "hydro_id": 2,
                "selection_mode": "seasonal",
                "default_model": "fpha",
                "seasons": [{"season_id": 6, "model": "constant_productivity", "productivity_override": 0.7}],
            },
        ]
    }
    documents["scenarios/non_controllable_factors.json"] = {
        "non_controllable_factors": [
            {
                "ncs_id": 5,
                "stage_id": 4,
                "block_factors": [{"block_id": 2, "factor": 0.4}, {"block_id": 0, "factor": 1.3}],
            }
        ]
    }
    documents["constraints/exchange_factors.json"] = {
        "exchange_factors": [
            {
                "line_id": 0,
                "stage_id": 7,
                "block_factors": [{"block_id": 1, "direct_factor": 0.9, "reverse_factor": 0.8}],
            }
        ]
    }
    documents["constraints/generic_constraints.json"] = {
        "constraints": [
            {
                "id": 3,
                "name": "north",
                "description": "what the north may send",
                "expression": "hydro_generation(0) + hydro_generation(1) - 0.5 * line_exchange(0, 1)",
                "sense": "<=",
                "slack": {"enabled": True, "penalty": 700.0},
            },
            {
                "id": 4,
                "name": "reserve",
                "expression": "hydro_storage(0)",
                "sense": ">=",
                "slack": {"enabled": False},
            },
        ]
    }
    return documents


def _contract(contract_id: int, name: str, bus: int, kind: str, price: float, most: float) -> dict[str, Any]:
    return {
        "id": contract_id,
        "name": name,
        "bus_id": bus,
        "type": kind,
        "price_per_mwh": price,
        "limits": {"min_mw": 0.0, "max_mw": most},
    }


def full_tables() -> dict[str, dict[str, list[Any]]]:
    """Parquet files of the same study."""
    tables = copy.deepcopy(example_tables())
    stats = tables["scenarios/inflow_seasonal_stats.parquet"]
    lags = tables["scenarios/inflow_ar_coefficients.parquet"]
    for stage in range(12):
        _append(stats, hydro_id=2, stage_id=stage, mean_m3s=20.0, std_m3s=5.0)
    for hydro, mean in ((0, 300.0), (1, 110.0), (2, 20.0)):
        _append(stats, hydro_id=hydro, stage_id=-1, mean_m3s=mean, std_m3s=0.3 * mean)
    _append(lags, hydro_id=2, stage_id=0, lag=1, coefficient=0.3, residual_std_ratio=0.95)
    tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [2, 2, 2],
        "stage_id": [None, None, 9],
        "plane_id": [0, 1, 0],
        "gamma_0": [1.0, 2.0, 3.0],
        "gamma_v": [0.01, 0.005, 0.02],
        "gamma_q": [0.8, 0.7, 0.75],
        "gamma_s": [0.0, -0.01, 0.0],
        "kappa": [None, 0.5, 1.0],
    }
    tables["scenarios/non_controllable_stats.parquet"]["std"][0] = 0.1
    tables["constraints/hydro_bounds.parquet"].update(
        min_turbined_m3s=[None] * 11 + [2.0],
        max_turbined_m3s=[None] * 11 + [400.0],
        min_storage_hm3=[None] * 11 + [500.0],
        max_storage_hm3=[None] * 11 + [3000.0],
        min_outflow_m3s=[None] * 11 + [25.0],
        max_outflow_m3s=[None] * 11 + [900.0],
        min_generation_mw=[None] * 11 + [5.0],
        max_generation_mw=[None] * 11 + [350.0],
        max_diversion_m3s=[None] * 11 + [9.0],
    )
    tables["constraints/thermal_bounds.parquet"] = {
        "thermal_id": [0, 1],
        "stage_id": [6, 6],
        "min_generation_mw": [10.0, None],
        "max_generation_mw": [None, 150.0],
        "cost_per_mwh": [90.0, None],
    }
    tables["constraints/line_bounds.parquet"] = {
        "line_id": [0], "stage_id": [7], "direct_mw": [500.0], "reverse_mw": [None]
    }  # fmt: skip
    tables["constraints/pumping_bounds.parquet"] = {
        "station_id": [0], "stage_id": [2], "min_m3s": [1.0], "max_m3s": [12.0]
    }  # fmt: skip
    tables["constraints/contract_bounds.parquet"] = {
        "contract_id": [0], "stage_id": [3], "min_mw": [5.0], "max_mw": [70.0], "price_per_mwh": [155.0]
    }  # fmt: skip
    tables["constraints/ncs_bounds.parquet"] = {
        "ncs_id": [0], "stage_id": [1], "available_generation_mw": [180.0]
    }  # fmt: skip
    tables["constraints/generic_constraint_bounds.parquet"] = {
        "constraint_id": [3, 3, 4],
        "stage_id": [1, 2, 11],
        "block_id": [None, 0, 0],
        "bound": [600.0, 580.0, 800.0],
    }
    tables["constraints/penalty_overrides_bus.parquet"] = {
        "bus_id": [1], "stage_id": [4], "excess_cost": [0.4]
    }  # fmt: skip
    tables["constraints/penalty_overrides_line.parquet"] = {
        "line_id": [0], "stage_id": [5], "exchange_cost": [0.9]
    }  # fmt: skip
    tables["constraints/penalty_overrides_hydro.parquet"] = {
        "hydro_id": [1, 0],
        "stage_id": [6, 6],
        "spillage_cost": [0.5, None],
        "evaporation_violation_pos_cost": [None, 7000.0],
        "water_withdrawal_violation_cost": [None, 1500.0],
    }
    tables["constraints/penalty_overrides_ncs.parquet"] = {
        "source_id": [0], "stage_id": [8], "curtailment_cost": [0.3]
    }  # fmt: skip
    return tables


def _append(table: dict[str, list[Any]], **row: Any) -> None:
    for name, value in row.items():
        table[name].append(value)


def arrow_table(columns: dict[str, Any]) -> pa.Table:
    """Columns with the types of the format; a pyarrow array keeps its own."""

    def array(name: str, values: Any) -> pa.Array:
        if isinstance(values, pa.Array):
            return values
        if name == "date" or name.endswith("_date"):
            return pa.array(values, pa.date32())
        return pa.array(values, pa.int32() if name.endswith("_id") or name in INTEGERS else pa.float64())

    return pa.table({name: array(name, values) for name, values in columns.items()})


_encoded: dict[str, bytes] = {}


def parquet_bytes(columns: dict[str, Any]) -> bytes:
    """The file; encoded once for all tests that leave these columns as they are."""
    key = repr(columns) if all(isinstance(values, list) for values in columns.values()) else ""
    if key not in _encoded or not key:
        sink = pa.BufferOutputStream()
        pq.write_table(arrow_table(columns), sink)
        _encoded[key] = sink.getvalue().to_pybytes()
    return _encoded[key]


class CaseFolder:
    """A case directory in memory that is written when it is asked for."""

    def __init__(self, path: Path, documents: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
        self.path = path
        self.documents = documents
        self.tables = tables
        self.raw: dict[str, bytes | None] = {}
        """Files to write as they are; None leaves the file out."""

    def write(self) -> Path:
        for name, document in self.documents.items():
            self._target(name).write_text(json.dumps(document), encoding="utf-8")
        for name, columns in self.tables.items():
            self._target(name).write_bytes(parquet_bytes(columns))
        for name, data in self.raw.items():
            if data is None:
                self._target(name).unlink()
            else:
                self._target(name).write_bytes(data)
        return self.path

    def write_table(self, name: str) -> Path:
        """Write one of the tables alone."""
        self._target(name).write_bytes(parquet_bytes(self.tables[name]))
        return self.path

    def file_bytes(self, name: str) -> bytes:
        """What the file would hold."""
        return (self.write() / name).read_bytes()

    def _target(self, name: str) -> Path:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def full_case(path: Path) -> CaseFolder:
    """A study that uses everything that is modelled."""
    return CaseFolder(path, full_documents(), full_tables())


def example_case(path: Path) -> CaseFolder:
    """The study that ``cobre init`` writes."""
    return CaseFolder(path, copy.deepcopy(example_documents()), copy.deepcopy(example_tables()))


def shuffled_copy(source: Path, target: Path) -> Path:
    """The same case with every list of entities and all rows of tables in another order."""
    shutil.copytree(source, target)
    for path in target.rglob("*.json"):
        document = json.loads(path.read_text())
        for key, value in document.items():
            if isinstance(value, list):
                document[key] = value[::-1]
        path.write_text(json.dumps(document))
    for path in target.rglob("*.parquet"):
        table = pq.read_table(path)
        order = np.random.default_rng(1).permutation(table.num_rows)
        pq.write_table(table.take(order), path)
    return target
