"""Case folders with one reservoir whose planes are fitted."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from case_folders import CaseFolder
from older_example import hydro_entry
from penalties import penalties

MODELS, GEOMETRY = "system/hydro_production_models.json", "system/hydro_geometry.parquet"
HYDROS, CURVES = "system/hydros.json", "system/tailrace_curves.parquet"


def d07(path: Path) -> CaseFolder:
    """Two months of one reservoir (0 to 200 hm3, from 100) and a thermal plant under a load of 80 MW."""
    stages = [
        {
            "id": stage,
            "start_date": f"2024-0{stage + 1}-01",
            "end_date": f"2024-0{stage + 2}-01",
            "blocks": [{"id": 0, "name": "ALL", "hours": 730.0}],
            "num_scenarios": 1,
        }
        for stage in (0, 1)
    ]
    hydro = hydro_entry(
        *(0, "LAKE", (0.0, 200.0), (0.0, 50.0), (0.0, 50.0)),
        outflow=(0.0, 50.0),
        tailrace={"type": "polynomial", "coefficients": [0.0]},
        hydraulic_losses={"type": "factor", "value": 0.03},
        efficiency={"type": "constant", "value": 0.92},
    )
    fitted = {
        "start_stage_id": 0,
        "end_stage_id": None,
        "model": "fpha",
        "fpha_config": {"source": "computed"},
    }
    model = {"hydro_id": 0, "selection_mode": "stage_ranges", "stage_ranges": [fitted]}
    rules = [{"type": "iteration_limit", "limit": 30}]
    documents = {
        "config.json": {"training": {"forward_passes": 1, "stopping_rules": rules}},
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.0},
            "stages": stages,
        },
        "penalties.json": penalties(
            1e4,
            (0.01, 0.01, 0.005),
            fpha_turbined_cost=0.0,
            diversion_cost=0.01,
        ),
        "initial_conditions.json": {
            "storage": [{"hydro_id": 0, "value_hm3": 100.0}],
            "filling_storage": [],
        },
        "system/buses.json": {"buses": [{"id": 0, "name": "BUS"}]},
        "system/lines.json": {"lines": []},
        "system/hydros.json": {"hydros": [hydro]},
        "system/thermals.json": {
            "thermals": [
                {
                    "id": 0,
                    "name": "FIRE",
                    "bus_id": 0,
                    "generation": {"min_mw": 0.0, "max_mw": 100.0},
                    "cost_per_mwh": 50.0,
                }
            ]
        },
        MODELS: {"production_models": [model]},
    }
    tables: dict[str, dict[str, Any]] = {
        GEOMETRY: {
            "hydro_id": [0] * 5,
            "volume_hm3": [0.0, 50.0, 100.0, 150.0, 200.0],
            "height_m": [50.0, 70.0, 85.0, 95.0, 100.0],
            "area_km2": [1.0] * 5,
        },
        "scenarios/inflow_seasonal_stats.parquet": {
            "hydro_id": [0, 0],
            "stage_id": [0, 1],
            "mean_m3s": [40.0, 10.0],
            "std_m3s": [0.0, 0.0],
        },
        "scenarios/load_seasonal_stats.parquet": {
            "bus_id": [0, 0],
            "stage_id": [0, 1],
            "mean_mw": [80.0, 80.0],
            "std_mw": [0.0, 0.0],
        },
    }
    return CaseFolder(path, documents, tables)


def cascade(path: Path) -> CaseFolder:
    """D07 with random inflows above a second fitted reservoir (7), which evaporates and raises the tail water above."""
    case = d07(path)
    below = copy.deepcopy(hydro_of(case))
    below.update(id=7, name="BELOW", reservoir={"min_storage_hm3": 10.0, "max_storage_hm3": 50.0})
    below["tailrace"] = {"type": "polynomial", "coefficients": [1.0, 0.05]}
    below["evaporation"] = {"coefficients_mm": [120.0, -40.0, *[0.0] * 10]}
    case.documents[HYDROS]["hydros"].append(below)
    hydro_of(case)["downstream_id"] = 7
    del hydro_of(case)["tailrace"]
    models = case.documents[MODELS]["production_models"]
    models.append({**copy.deepcopy(models[0]), "hydro_id": 7})
    case.documents["initial_conditions.json"]["storage"].append({"hydro_id": 7, "value_hm3": 30.0})
    for stage in case.documents["stages.json"]["stages"]:
        stage["num_scenarios"] = 3
    geometry = {"hydro_id": [7] * 3, "volume_hm3": [10.0, 30.0, 50.0], "height_m": [30.0, 42.0, 50.0]}
    for name, values in {**geometry, "area_km2": [5.0, 9.0, 12.0]}.items():
        case.tables[GEOMETRY][name] = case.tables[GEOMETRY][name] + values
    case.tables["scenarios/inflow_seasonal_stats.parquet"] = {
        "hydro_id": [0, 0, 7, 7],
        "stage_id": [0, 1, 0, 1],
        "mean_m3s": [40.0, 10.0, 5.0, 4.0],
        "std_m3s": [8.0, 3.0, 1.0, 1.0],
    }
    case.tables[CURVES] = {
        "hydro_id": [0, 0],
        "family_id": [0, 1],
        "downstream_reference_level_m": [40.0, 50.0],
        "segment_id": [0, 0],
        "outflow_min_m3s": [0.0, 0.0],
        "outflow_max_m3s": [500.0, 500.0],
        "coefficient_0": [5.0, 11.0],
        "coefficient_1": [0.02, 0.01],
        **{f"coefficient_{power}": [0.0, 0.0] for power in (2, 3, 4)},
    }
    return case


def config_of(case: CaseFolder) -> dict[str, Any]:
    """The settings of the fit."""
    config: dict[str, Any] = case.documents[MODELS]["production_models"][0]["stage_ranges"][0]["fpha_config"]
    return config


def hydro_of(case: CaseFolder, index: int = 0) -> dict[str, Any]:
    """An entry of ``hydros.json``."""
    hydro: dict[str, Any] = case.documents[HYDROS]["hydros"][index]
    return hydro
