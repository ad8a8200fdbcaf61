"""Blocks that follow one another: storages between them, evaporation and water values of each."""

from __future__ import annotations

import numpy as np
import pytest

import cobre
from cobre.sddp.nature import Nature
from cobre.sddp.subproblem import build_stage_problems
from format_018.small import Case018
from simulation.balances import rows

MONTH = 730.0
HM3 = 0.0036


def chronological(case: Case018, *stages: int) -> Case018:
    """``case`` with chronological blocks in these stages, or in all of them."""
    for stage in case.documents["stages.json"]["stages"]:
        if not stages or stage["id"] in stages:
            stage["block_mode"] = "chronological"
    return case


def evaporating(case: Case018, area: float, slope: float) -> Case018:
    """Its first hydro loses 100 mm a month from ``area + slope volume`` km2."""
    case.documents["system/hydros.json"]["hydros"][0]["evaporation"] = {"coefficients_mm": [100.0] * 12}
    case.tables["system/hydro_geometry.parquet"] = [
        {"hydro_id": 0, "volume_hm3": v, "height_m": 10.0 + v / 100.0, "area_km2": area + slope * v}
        for v in (0.0, 100.0, 200.0)
    ]
    return case


def peaks(**hydro) -> Case018:
    """Two months of three blocks with a peak at the beginning."""
    case = Case018([[250.0, 250.0, 230.0]] * 2, [80.0])
    case.set_load_factors([(1.5, 1.0, 0.2)] * 2)
    case.add_thermal(50.0, 100.0)
    case.add_hydro(100.0, 200.0, flow=50.0, inflow=[40.0, 10.0], **hydro)
    return case


def test_a_reservoir_cannot_use_at_the_peak_what_comes_later(tmp_path):
    # 10 m3/s come in all hours, nothing can be stored: 10 MW in each block. Parallel blocks use all of it at the peak.
    case = Case018([[80.0, 160.0]] * 2, [0.0], days=[10, 10])
    case.set_load_factors([(1.0, 1e-9)] * 2)
    case.loads = (50.0,)
    case.add_thermal(20.0, 100.0)
    case.add_hydro(0.0, 0.0, inflow=[10.0, 10.0])
    parallel = cobre.train(case.write(tmp_path / "parallel")).final_lower_bound
    mixed = cobre.train(chronological(case, 1).write(tmp_path / "mixed")).final_lower_bound
    assert parallel == pytest.approx(2 * 80.0 * 20.0 * 20.0, rel=1e-6)
    assert mixed == pytest.approx(80.0 * 20.0 * 20.0 + 80.0 * 40.0 * 20.0, rel=1e-6)


def test_storages_chain_and_evaporation_follows_each_block(tmp_path):
    study = cobre.load_case(chronological(evaporating(peaks(), 0.5, 0.005)).write(tmp_path / "case"))
    result = cobre.train(study)
    assert result.final_lower_bound == pytest.approx(2_500_000.0, rel=1e-9)
    found = rows(cobre.simulate(study, result.policy, scenarios=1), "hydros")
    # 100 mm a month of 744 or 672 hours, from an area of 0.5 + 0.005 v km2.
    for before, row in zip([None, *found], found, strict=False):
        month = 744.0 if row["stage_id"] == 0 else 672.0
        mean = (row["storage_initial_hm3"] + row["storage_final_hm3"]) / 2.0
        assert row["evaporation_m3s"] == pytest.approx(100.0 / (3.6 * month) * (0.5 + 0.005 * mean), rel=1e-9)
        hours = (250.0, 250.0, 230.0)[row["block_id"]]
        net = (40.0, 10.0)[row["stage_id"]] - row["outflow_m3s"] - row["evaporation_m3s"]
        change = row["storage_final_hm3"] - row["storage_initial_hm3"]
        assert change == pytest.approx(HM3 * hours * net, abs=1e-8)
        start = 100.0 if before is None else before["storage_final_hm3"]
        assert row["storage_initial_hm3"] == start


def test_the_stage_ends_with_its_last_block(tmp_path):
    study = cobre.load_case(chronological(peaks()).write(tmp_path / "case"))
    result = cobre.simulate(study, cobre.train(study).policy, scenarios=1, output=tmp_path / "run")
    last = {row["stage_id"]: row["storage_final_hm3"] for row in rows(result, "hydros")}
    summary = {row["stage_id"]: row["storage_final_hm3"] for row in rows(result, "stage_summary")}
    assert summary == last
    by_stage = result.quantiles("storage_final_hm3", by=("hydro", "stage"), shares=(0.5,)).to_pylist()
    assert [row["mean"] for row in by_stage] == list(last.values())


def test_water_is_worth_what_it_replaces_in_each_block(tmp_path):
    # The reservoir is full after the wet block and empty after the dry one, so that its values differ.
    case = Case018([[80.0, 80.0, 80.0]] * 2, [50.0], days=[10, 10])
    case.add_thermal(20.0, 30.0)
    case.add_thermal(70.0, 100.0)
    case.set_load_factors([(2.0, 0.4, 2.0)] * 2)
    case.add_hydro(0.0, 4.0, inflow=[20.0, 20.0])
    study = cobre.load_case(chronological(case).write(tmp_path / "case"))
    result = cobre.simulate(study, cobre.train(study).policy, scenarios=1)
    values = [row["water_value_per_hm3"] for row in rows(result, "hydros") if row["stage_id"] == 0]
    # Blocks 0 and 2: water replaces 70 $/MWh. Block 1: 4 of 5.76 hm3 are kept, the rest replaces 20 $/MWh.
    assert values == pytest.approx([70.0 / HM3, 20.0 / HM3, 70.0 / HM3])


def test_one_block_is_the_same_in_both_modes(tmp_path):
    case = Case018([[MONTH]] * 2, [80.0])
    case.add_thermal(50.0, 100.0)
    case.add_hydro(100.0, 200.0, flow=50.0, inflow=[40.0, 10.0])
    evaporating(case, 0.5, 0.005)
    templates = []
    for name in ("parallel", "chronological"):
        study = cobre.load_case(case.write(tmp_path / name))
        nature = Nature.of(study)
        templates.append(
            [problem.template for problem in build_stage_problems(study, nature.inflow, nature.transition)]
        )
        chronological(case)
    for a, b in zip(*templates, strict=True):
        for name in ("column_cost", "column_lower", "column_upper", "row_lower", "row_upper", "values"):
            assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
        assert np.array_equal(a.column_indices, b.column_indices)


def test_a_constraint_holds_for_a_storage_between_blocks(tmp_path):
    case = Case018([[120.0, 120.0]] * 2, [50.0], days=[10, 10])
    case.add_thermal(20.0, 100.0)
    case.add_hydro(36.0, 100.0, flow=30.0)
    case.constrain("hydro_storage_final(0, 0)", [{"stage_id": 0, "block_id": 0, "bound_lower": 30.0}])
    study = cobre.load_case(chronological(case).write(tmp_path / "case"))
    result = cobre.train(study)
    found = rows(cobre.simulate(study, result.policy, scenarios=1), "hydros")
    assert found[0]["storage_final_hm3"] >= 30.0 - 1e-9
    # All 36 hm3, 10,000 MWh, are used in the end, of 24,000 MWh of load.
    assert result.final_lower_bound == pytest.approx(20.0 * (4 * 120.0 * 50.0 - 36.0 / HM3))


def test_a_storage_between_parallel_blocks_is_refused(tmp_path):
    case = Case018([[120.0, 120.0]] * 2, [50.0], days=[10, 10])
    case.add_thermal(20.0, 100.0)
    case.add_hydro(36.0, 100.0)
    case.constrain("hydro_storage_final(0, 0)", [{"stage_id": 0, "block_id": 0, "bound_lower": 30.0}])
    with pytest.raises(cobre.ValidationError, match="whose blocks are parallel"):
        cobre.train(case.write(tmp_path / "case"))


def test_noise_of_an_inflow_enters_each_block_by_its_hours_and_its_own_hydro_only(tmp_path):
    case = chronological(Case018([[300.0, 444.0], [672.0]], [0.0]))
    for _ in range(2):
        case.add_hydro(100.0, 1000.0, flow=0.0)
    case.tables["scenarios/inflow_seasonal_stats.parquet"] = [
        {"hydro_id": h, "stage_id": stage, "mean_m3s": 50.0, "std_m3s": 10.0 * (h + 1)}
        for h in (0, 1)
        for stage in (0, 1)
    ]
    case.tables["scenarios/noise_openings.parquet"] = [
        {"stage_id": stage, "opening_index": opening, "entity_index": h, "value": float(opening * h)}
        for stage, opening, h in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1))
    ]
    case.documents["stages.json"]["stages"][0]["num_openings"] = 2
    case.documents["config.json"]["training"]["scenario_source"] = {"openings": {"source": "file"}}
    study = cobre.load_case(case.write(tmp_path / "case"))
    found = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=8), "hydros")
    found = [row for row in found if row["stage_id"] == 0]
    final = {(h, k): {r["storage_final_hm3"] for r in found if (r["hydro_id"], r["block_id"]) == (h, k)}
             for h in (0, 1) for k in (0, 1)}  # fmt: skip
    assert {len(final[0, k]) for k in (0, 1)} == {1}
    for block, hours in ((0, 300.0), (1, 744.0)):
        low, high = sorted(final[1, block])
        assert low == pytest.approx(100.0 + 50.0 * HM3 * hours, abs=1e-9)
        assert high - low == pytest.approx(20.0 * HM3 * hours, abs=1e-9)
    assert max(final[1, 1]) - min(final[1, 1]) == pytest.approx(53.568, abs=1e-9)
