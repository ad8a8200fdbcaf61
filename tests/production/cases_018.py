"""Cases in the format of the public Cobre 0.18, rewritten in the format of 0.5.1.

Only what the cases of these tests have: one unit group per plant, one production model for all stages. 0.18 charges
turbined water of every plant and 0.5.1 only that of plants with planes, so a productivity is written as one plane.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from case_folders import parquet_bytes

ROOT = Path(os.environ.get("COBRE_CASES_018") or Path(__file__).parents[3] / "shared" / "cases-018")


def converted(name: str, target: Path) -> Path:
    """The case ``name`` in the old format; the test is skipped where the cases are not there."""
    source = ROOT / name
    if not source.is_dir():
        pytest.skip(f"no folder {source}; COBRE_CASES_018 names the folder of the 0.18 cases")
    shutil.copytree(source, target, copy_function=shutil.copy)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    models = _read(target, "system/hydro_production_models.json")
    ranges = {model["hydro_id"]: model["stage_ranges"][0] for model in models["production_models"]}
    _rewrite(target, "config.json", _config)
    _rewrite(target, "stages.json", _stages)
    _rewrite(target, "penalties.json", _penalties)
    for kind in ("buses", "lines", "thermals"):
        _rewrite(target, f"system/{kind}.json", _without_date)
    _rewrite(target, "system/hydros.json", _hydros)
    _rewrite(target, "system/hydro_production_models.json", _models)
    _write_planes(target, ranges)
    return target


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def _rewrite(folder: Path, name: str, change: Any) -> None:
    (folder / name).write_text(json.dumps(change(_read(folder, name))))


def _config(config: Any) -> Any:
    training = config["training"]
    kept = {
        "tree_seed": training["tree_seed"],
        "forward_passes": training["selection"]["forward_passes"],
        "stopping_rules": training["stopping_rules"],
    }
    return {"training": kept, "modeling": config["modeling"]}


def _stages(stages: Any) -> Any:
    for stage in stages["stages"]:
        stage["num_scenarios"] = stage.pop("num_openings")
    return stages


def _penalties(penalties: Any) -> Any:
    penalties["hydro"]["fpha_turbined_cost"] = penalties["hydro"].pop("turbined_cost")
    return penalties


def _without_date(document: Any) -> Any:
    for entities in document.values():
        for entity in entities:
            del entity["operational_start_date"]
    return document


def _hydros(document: Any) -> Any:
    for hydro in _without_date(document)["hydros"]:
        (group,) = hydro.pop("unit_groups")
        hydro["bus_id"] = group["bus_id"]
        hydro["generation"]["model"] = "fpha"
    return document


def _models(document: Any) -> Any:
    for model in document["production_models"]:
        for each in model["stage_ranges"]:
            each["model"] = "fpha"
            if each.pop("productivity_mw_per_m3s", None) is not None:
                each["fpha_config"] = {"source": "precomputed"}
    return document


def _write_planes(folder: Path, ranges: dict[int, Any]) -> None:
    given = {hydro: each for hydro, each in ranges.items() if "productivity_mw_per_m3s" in each}
    if given:
        zeros = [0.0] * len(given)
        columns = {
            "hydro_id": list(given),
            "plane_id": [0] * len(given),
            "gamma_0": zeros,
            "gamma_v": zeros,
            "gamma_q": [each["productivity_mw_per_m3s"] for each in given.values()],
            "gamma_s": zeros,
        }
        (folder / "system/fpha_hyperplanes.parquet").write_bytes(parquet_bytes(columns))
