"""Two ways to say the same in a case of 0.18 have the same optimum."""

from __future__ import annotations

import copy

import pytest

import cobre
from format_018.random_cases import case_with

SEED = 2


def bound(case, folder) -> float:
    return cobre.train(case.write(folder)).final_lower_bound


def test_a_band_is_its_two_sides(tmp_path):
    case = case_with(SEED, "no element")
    rows = [{"stage_id": stage, "bound_lower": 60.0, "bound_upper": 65.0} for stage in (0, 1)]
    whole, halves = copy.deepcopy(case), copy.deepcopy(case)
    whole.constrain("hydro_outflow(0)", rows, 40.0)
    for name in ("bound_lower", "bound_upper"):
        one_side = [{"stage_id": row["stage_id"], name: row[name]} for row in rows]
        halves.constrain("hydro_outflow(0)", one_side, 40.0)
    assert bound(whole, tmp_path / "a") == pytest.approx(bound(halves, tmp_path / "b"), rel=1e-9)
    assert bound(whole, tmp_path / "a") != pytest.approx(bound(case, tmp_path / "c"), rel=1e-6)


def test_groups_at_one_bus_are_one_group(tmp_path):
    case = case_with(SEED, "outflow")
    split = copy.deepcopy(case)
    for plant in split.documents["system/hydros.json"]["hydros"]:
        (group,) = plant["unit_groups"]
        names = [name for name in group if name.startswith(("min_", "max_"))]
        parts = [
            {**group, "id": part, **{name: group[name] * share for name in names}}
            for part, share in ((0, 0.25), (1, 0.75))
        ]
        plant["unit_groups"] = parts
    assert bound(split, tmp_path / "a") == pytest.approx(bound(case, tmp_path / "b"), rel=1e-9)


def test_limits_by_block_that_repeat_the_stages_are_limits_by_stage(tmp_path):
    case = case_with(SEED, "no element")
    thermals = case.documents["system/thermals.json"]["thermals"]
    rows = [
        {
            "thermal_id": plant["id"],
            "stage_id": 1,
            "block_id": None,
            "max_generation_mw": 0.7 * plant["generation"]["max_mw"],
        }
        for plant in thermals
    ]
    by_block = copy.deepcopy(case)
    case.tables["constraints/thermal_bounds.parquet"] = rows
    by_block.tables["constraints/thermal_bounds.parquet"] = [
        {**row, "block_id": block} for row in rows for block in range(len(case.hours[1]))
    ]
    assert bound(by_block, tmp_path / "a") == bound(case, tmp_path / "b")


def test_the_scale_of_costs_and_the_scheduler_change_no_bit(tmp_path):
    case = case_with(SEED, "no element")
    other = copy.deepcopy(case)
    config = other.documents["config.json"]
    config["modeling"]["cost_scale_factor"] = 1e3
    config["training"]["parallelism"] = {"backward_scheduler": {"method": "by_node", "block_size": 2}}
    assert bound(other, tmp_path / "a") == bound(case, tmp_path / "b")
