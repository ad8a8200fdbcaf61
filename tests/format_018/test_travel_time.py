"""Water that takes time: shares of arrival, hand-worked optima, tables, a study that goes on where another ended."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import cobre
from cobre.sddp.transit import Transit
from format_018.small import START, Case018
from simulation.balances import assert_money, assert_water, rows

MWH = 0.0036
"""MW per m3/s at which 1 hm3 makes 1 MWh."""
HM3 = 0.0036


def cascade(days, hours=None, *, load_mwh=0.0, times=(360.0,), blocks=None, **more) -> Case018:
    """Plants without storage in a row, all but the last with a travel time; load in MWh per stage."""
    blocks = blocks or [[24.0 * each] for each in days]
    case = Case018(blocks, [load_mwh / sum(blocks[0])], days=days)
    case.add_thermal(10.0, 1e5)
    for number, each in enumerate(times):
        case.add_hydro(0.0, 0.0, productivity=MWH, downstream=number + 1, travel_time_hours=each, **more)
    case.add_hydro(0.0, 0.0, productivity=MWH)
    return case


def release_before(case: Case018, hydro: int, *windows: tuple[int, float]) -> Case018:
    """Releases before the study as (days, m3/s), the latest last."""
    entries = case.documents["initial_conditions.json"].setdefault("past_defluences", [])
    end = START
    for days, value in reversed(windows):
        start = end - dt.timedelta(days=days)
        entries.append(
            {"hydro_id": hydro, "start_date": str(start), "end_date": str(end), "value_m3s": value}
        )
        end = start
    return case


def transit_of(days, hours, tmp_path, *, blocks=None, is_open_ended=True) -> Transit:
    case = release_before(cascade(days, times=(hours,), blocks=blocks), 0, (int(-(-hours // 24)), 0.0))
    if blocks is not None:
        for stage in case.documents["stages.json"]["stages"]:
            stage["block_mode"] = "chronological"
    return Transit(cobre.load_case(case.write(tmp_path / "case")), is_open_ended=is_open_ended)


def shares(transit: Transit, stage: int) -> list[float]:
    """Of what a parallel stage releases: what arrives in it, in the next one, and so on."""
    found = transit.at(stage)
    return [float(found.same_stage[0][0, 0]), *found.deposited[0][0].tolist()]


@pytest.mark.parametrize(
    ("days", "hours", "stage", "expected"),
    [
        ([30, 7, 7, 7], 360.0, 0, [1 / 2, 7 / 30, 7 / 30, 1 / 30]),
        ([7] * 6, 360.0, 0, [0.0, 0.0, 6 / 7, 1 / 7]),
        ([30] * 3, 360.0, 0, [1 / 2, 1 / 2]),
        ([7, 7, 7, 7, 30, 30, 30], 360.0, 2, [0.0, 0.0, 1.0]),
        ([7, 7, 7, 7, 30, 30, 30], 360.0, 3, [0.0, 1.0]),
        ([30] * 3, 6.0, 0, [714 / 720, 6 / 720]),
        ([30] * 3, 720.0, 1, [0.0, 1.0]),
        ([30] * 4, 1800.0, 0, [0.0, 0.0, 1 / 2, 1 / 2]),
    ],
)
def test_shares_of_a_release_by_stage_of_arrival(tmp_path, days, hours, stage, expected):
    found = shares(transit_of(days, hours, tmp_path), stage)
    assert found[: len(expected)] == pytest.approx(expected, abs=1e-12)
    assert not any(found[len(expected) :])


def test_water_that_arrives_after_the_study_is_lost_unless_its_end_is_priced(tmp_path):
    assert shares(transit_of([30, 30], 360.0, tmp_path / "a"), 1) == pytest.approx([0.5, 0.5])
    closed = transit_of([30, 30], 360.0, tmp_path / "b", is_open_ended=False)
    assert shares(closed, 1) == pytest.approx([0.5, 0.0])


def test_shares_between_chronological_blocks(tmp_path):
    transit = transit_of([30, 30], 250.0, tmp_path, blocks=[[240.0] * 3] * 2)
    found = transit.at(0)
    within = [[0.0, 230 / 240, 10 / 240], [0.0, 0.0, 230 / 240], [0.0, 0.0, 0.0]]
    assert found.same_stage[0] == pytest.approx(np.array(within))
    assert found.deposited[0][:, 0] == pytest.approx([0.0, 10 / 240, 1.0])
    assert transit.at(1).density[0] == pytest.approx([0.96, 0.04, 0.0])
    assert transit.at(0).density[0] == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3]
    )  # nothing is known of the time before


def test_a_day_of_hours(tmp_path):
    transit = transit_of([1, 1], 6.0, tmp_path, blocks=[[1.0] * 24] * 2)
    found = transit.at(0)
    assert found.same_stage[0][17, 23] == pytest.approx(1.0)
    assert found.deposited[0][:18, 0] == pytest.approx(np.zeros(18))
    assert found.deposited[0][18:, 0] == pytest.approx(np.ones(6))


def test_when_water_of_weeks_arrives_in_blocks_of_a_month(tmp_path):
    case = release_before(
        cascade([7, 7, 30], times=(200.0,), blocks=[[168.0], [168.0], [20.0, 100.0, 600.0]]), 0, (9, 0.0)
    )
    case.add_hydro(0.0, 0.0, downstream=1)  # a tributary without delay
    case.documents["stages.json"]["stages"][2]["block_mode"] = "chronological"
    transit = Transit(cobre.load_case(case.write(tmp_path / "case")), is_open_ended=False)
    assert transit.at(2).density[0] == pytest.approx([0.1, 0.5, 0.4])


def test_half_of_a_release_arrives_a_stage_later(tmp_path):
    case = release_before(cascade([30, 30], load_mwh=200.0), 0, (15, 0.0))
    case.documents["system/hydros.json"]["hydros"][0]["reservoir"]["max_storage_hm3"] = 100.0
    case.documents["initial_conditions.json"]["storage"][0]["value_hm3"] = 100.0
    study = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.train(study)
    # 400 MWh of load; 100 hm3 make 100 MWh above and 100 below, if they are released in the first stage.
    assert result.final_lower_bound == pytest.approx(2000.0, abs=1e-5)
    cuts = result.policy.cuts(0)
    best = np.argmax(cuts["intercepts"])
    names = dict(zip(result.policy.state_names, cuts["coefficients"][best].tolist(), strict=True))
    assert names["in_transit1:1"] == pytest.approx(-10.0)
    # What is stored above and released in the last stage makes 1 MWh there and half a MWh below within the study.
    assert names["storage:0"] == pytest.approx(-15.0)
    assert names["storage:1"] == pytest.approx(-10.0)
    simulated = cobre.simulate(study, result.policy, scenarios=1)
    under_way = rows(simulated, "in_transit")
    assert [row["in_transit_volume_hm3"] for row in under_way] == pytest.approx([50.0, 0.0], abs=1e-6)
    assert [row["delayed_arrival_hm3"] for row in under_way] == pytest.approx([0.0, 50.0], abs=1e-6)


def test_water_released_before_the_study_arrives_in_it(tmp_path):
    case = release_before(cascade([7, 7, 7], load_mwh=200.0, times=(336.0,)), 0, (14, 100.0))
    study = cobre.load_case(case.write(tmp_path / "case"))
    assert Transit(study, is_open_ended=False).seed == pytest.approx([60.48, 60.48])
    assert cobre.train(study).final_lower_bound == pytest.approx(4790.40, abs=1e-4)


def cascade_whose_middle_leaves():
    """U releases 25 m3/s in the first stage, of which half reach the site of J in the second, and D there at once."""
    case = cascade([30, 30], load_mwh=200.0, times=(360.0, 0.0))
    plants = case.documents["system/hydros.json"]["hydros"]
    del plants[1]["travel_time_hours"]
    plants[1]["exit_stage_id"] = 1
    case.inflows[0] = [25.0, 0.0]
    return release_before(case, 0, (15, 0.0))


def test_a_plant_that_left_passes_on_what_was_on_its_way_to_it(tmp_path):
    study = cobre.load_case(cascade_whose_middle_leaves().write(tmp_path / "case"))
    result = cobre.train(study)
    assert result.final_lower_bound == pytest.approx(2380.0, abs=1e-4)
    found = rows(cobre.simulate(study, result.policy, scenarios=1), "hydros")
    received = {(row["hydro_id"], row["stage_id"]): row["inflow_m3s"] * HM3 * 720.0 for row in found}
    assert received[2, 1] == pytest.approx(32.4)


def test_water_under_way_to_a_plant_that_left_passes_its_site(tmp_path):
    case = cascade_whose_middle_leaves()
    for site in (1, 2):
        case.constrain(f"hydro_inflow({site})", [{"stage_id": 1, "bound_lower": 1000.0}], 7.0)
    expected = 2380.0 + 2 * 7.0 * 720.0 * (1000.0 - 12.5)
    assert cobre.train(case.write(tmp_path / "case")).final_lower_bound == pytest.approx(expected, abs=1e-3)


def test_water_with_different_travel_times_arrives_at_one_plant(tmp_path):
    case = cascade([30, 30, 30], times=(360.0,))
    case.add_hydro(0.0, 0.0, productivity=MWH, downstream=1, travel_time_hours=1080.0)
    flow = 100.0 / (HM3 * 720.0)
    case.inflows = {0: [flow, 0.0, 0.0], 1: [0.0] * 3, 2: [flow, 0.0, 0.0]}
    release_before(release_before(case, 0, (15, 0.0)), 2, (45, 0.0))
    study = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.simulate(study, cobre.train(study).policy, scenarios=1)
    received = [row["inflow_m3s"] * HM3 * 720.0 for row in rows(result, "hydros") if row["hydro_id"] == 1]
    assert received == pytest.approx([50.0, 100.0, 50.0], abs=1e-6)
    assert max(row["lag"] for row in rows(result, "in_transit")) == 2


def several_blocks(mode: str) -> Case018:
    case = cascade([10, 20, 10], times=(100.0,), blocks=[[100.0, 140.0], [200.0, 280.0], [120.0, 120.0]])
    for stage in case.documents["stages.json"]["stages"]:
        stage["block_mode"] = mode
    case.loads = (60.0,)
    case.documents["system/hydros.json"]["hydros"][0]["reservoir"]["max_storage_hm3"] = 30.0
    case.documents["initial_conditions.json"]["storage"][0]["value_hm3"] = 20.0
    for model in case.documents["system/hydro_production_models.json"]["production_models"]:
        model["stage_ranges"][0]["productivity_mw_per_m3s"] = 1.0
    case.inflows = {0: [9.0, 4.0, 7.0], 1: [1.0, 2.0, 1.0]}
    return release_before(case, 0, (2, 12.0), (3, 4.0))


@pytest.mark.parametrize("mode", ["parallel", "chronological"])
def test_all_water_is_accounted_for(tmp_path, mode):
    study = cobre.load_case(several_blocks(mode).write(tmp_path / "case"))
    result = cobre.simulate(study, cobre.train(study).policy, scenarios=1)
    assert_money(study, result, 1e-6)
    if mode == "parallel":
        assert_water(study, result, 1e-6)
    found = rows(result, "hydros")
    hours = {
        (s, k): each
        for s, stage in enumerate(study.horizon.stages)
        for k, each in enumerate(stage.block_hours)
    }

    def volume(name: str, plant: int) -> float:
        return sum(
            HM3 * hours[row["stage_id"], row["block_id"]] * row[name]
            for row in found
            if row["hydro_id"] == plant
        )

    arrived = volume("inflow_m3s", 1) - volume("incremental_inflow_m3s", 1)
    seed = float(Transit(study, is_open_ended=False).seed.sum())
    assert seed == pytest.approx(HM3 * (28.0 * 12.0 + 72.0 * 4.0))
    lost = [row["value_m3s"] for row in rows(result, "transit_seed")]
    assert len(lost) == (1 if mode == "parallel" else 2)
    gone = _under_way_at_the_end(study, found)
    assert arrived == pytest.approx(volume("outflow_m3s", 0) + seed - gone, abs=1e-6)


def _under_way_at_the_end(study, found) -> float:
    """Of the last stage: what arrives later than its end."""
    blocks = study.horizon.stages[-1].block_hours
    flows = [row["outflow_m3s"] for row in found if row["hydro_id"] == 0 and row["stage_id"] == 2]
    if study.horizon.stages[-1].is_chronological:
        ends = np.cumsum(blocks)
        late = [min(h, max(0.0, e + 100.0 - 240.0)) for h, e in zip(blocks, ends, strict=True)]
        return float(sum(HM3 * each * flow for each, flow in zip(late, flows, strict=True)))
    return float(100.0 / 240.0 * sum(HM3 * h * flow for h, flow in zip(blocks, flows, strict=True)))


def test_a_constraint_sees_what_arrives_in_a_block(tmp_path):
    case = several_blocks("chronological")
    case.constrain("hydro_inflow(1)", [{"stage_id": 1, "bound_lower": 0.0}])
    study = cobre.load_case(case.write(tmp_path / "case"))
    policy = cobre.train(study).policy
    plain = [row["inflow_m3s"] for row in rows(cobre.simulate(study, policy, scenarios=1), "hydros")]
    least = max(plain[8], plain[9]) + 0.5  # hydro 1 in the blocks of stage 1
    del (
        case.documents["constraints/generic_constraints.json"],
        case.tables["constraints/generic_constraint_bounds.parquet"],
    )
    case.constrain("hydro_inflow(1)", [{"stage_id": 1, "block_id": 1, "bound_lower": least}], 1e5)
    study = cobre.load_case(case.write(tmp_path / "other"))
    found = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=1), "hydros")
    (row,) = [r for r in found if (r["hydro_id"], r["stage_id"], r["block_id"]) == (1, 1, 1)]
    assert row["inflow_m3s"] >= least - 1e-6


def test_a_study_goes_on_where_another_ended(tmp_path):
    """Two studies of two stages each, the second one seeded by the first, have the water of one study of four."""
    days, hours = [30, 30, 30, 30], 500.0
    case = release_before(cascade(days, times=(hours,), load_mwh=200.0), 0, (21, 8.0))
    case.inflows = {0: [25.0, 12.0, 7.0, 3.0], 1: [0.0] * 4}
    whole = cobre.load_case(case.write(tmp_path / "whole"))
    expected = rows(cobre.simulate(whole, cobre.train(whole).policy, scenarios=1), "hydros")

    first = release_before(cascade(days[:2], times=(hours,), load_mwh=200.0), 0, (21, 8.0))
    first.inflows = {0: [25.0, 12.0], 1: [0.0] * 2}
    study = cobre.load_case(first.write(tmp_path / "first"))
    seeds = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=1), "transit_seed")
    assert [(row["start_date"], row["end_date"]) for row in seeds] == [
        (dt.date(2025, 1, 31), dt.date(2025, 3, 2))
    ]

    second = cascade(days[2:], times=(hours,), load_mwh=200.0)
    second.inflows = {0: [7.0, 3.0], 1: [0.0] * 2}
    for stage, (start, end) in zip(
        second.documents["stages.json"]["stages"],
        (("2025-03-02", "2025-04-01"), ("2025-04-01", "2025-05-01")),
        strict=True,
    ):
        stage.update(start_date=start, end_date=end)
    second.documents["initial_conditions.json"]["past_defluences"] = [
        {
            "hydro_id": row["hydro_id"],
            "start_date": str(row["start_date"]),
            "end_date": str(row["end_date"]),
            "value_m3s": row["value_m3s"],
        }
        for row in seeds
    ]
    study = cobre.load_case(second.write(tmp_path / "second"))
    found = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=1), "hydros")
    later = [row["inflow_m3s"] for row in expected if row["stage_id"] >= 2]
    assert [row["inflow_m3s"] for row in found] == pytest.approx(later, abs=1e-9)


def test_releases_that_arrive_after_a_short_study_are_handed_on(tmp_path):
    case = release_before(cascade([7, 7], times=(600.0,)), 0, (20, 3.0), (5, 9.0))
    study = cobre.load_case(case.write(tmp_path / "case"))
    found = rows(cobre.simulate(study, cobre.train(study).policy, scenarios=1), "transit_seed")
    first_days = [row["start_date"] for row in found]
    # 600 hours are 25 days: releases from 25 days before the end on are still under way, 11 of them before the study.
    assert first_days == [
        START - dt.timedelta(days=25),
        START - dt.timedelta(days=5),
        START,
        START + dt.timedelta(days=7),
    ]


def broken(change):
    def write(folder):
        case = release_before(cascade([30, 30], load_mwh=200.0), 0, (15, 1.0))
        change(case)
        return case.write(folder)

    return write


def _chronological_meeting(case):
    case.add_hydro(0.0, 0.0, downstream=1, travel_time_hours=48.0)
    release_before(case, 2, (2, 0.0))
    stage = case.documents["stages.json"]["stages"][0]
    stage.update(block_mode="chronological")
    stage["blocks"] = [{"id": 0, "name": "a", "hours": 300.0}, {"id": 1, "name": "b", "hours": 420.0}]


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (
            lambda case: case.documents["initial_conditions.json"].update(past_defluences=[]),
            "past_defluences",
            "0 of the 15 days",
        ),
        (
            lambda case: case.documents["initial_conditions.json"]["past_defluences"][0].update(
                end_date="2025-01-03"
            ),
            "past_defluences.end_date",
            "reaches into the study",
        ),
        (
            lambda case: case.documents["initial_conditions.json"]["past_defluences"].append(
                {"hydro_id": 0, "start_date": "2024-12-20", "end_date": "2024-12-25", "value_m3s": 1.0}
            ),
            "past_defluences.start_date",
            "overlaps",
        ),
        (
            lambda case: case.documents["system/hydros.json"]["hydros"][1].update(entry_stage_id=1),
            "travel_time_hours",
            "not there yet",
        ),
        (_chronological_meeting, "travel_time_hours", "48 and 360 hours"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, change, field, words):
    errors = cobre.validate(broken(change)(tmp_path / "case")).errors
    assert {error.field for error in errors} == {field}, errors
    assert words in errors[0].message
    assert errors[0].remedy


def test_water_that_is_lost_at_the_end_is_a_warning(tmp_path):
    warnings = cobre.validate(broken(lambda case: None)(tmp_path / "case")).warnings
    assert [warning.field for warning in warnings] == ["travel_time_hours"]
    assert "worth nothing" in warnings[0].message
