"""Policies of one study price the end of another, or start it, with water and generation under way."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest

import cobre
from cobre.sddp.carried import Carried
from cobre.sddp.slots import Source, weights
from format_018.small import START, Case018

RATES = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 1}]}}


def long_study(days, first=0, *, lead=2) -> Case018:
    """Stages of a study of which ``first`` are left out, whose water takes 100 hours and whose fuel two stages."""
    kept = days[first:]
    case = Case018([[24.0 * each] for each in kept], [70.0], days=kept)
    start = START + dt.timedelta(days=sum(days[:first]))
    for t, stage in enumerate(case.documents["stages.json"]["stages"]):
        begin = start + dt.timedelta(days=sum(kept[:t]))
        stage.update(start_date=str(begin), end_date=str(begin + dt.timedelta(days=kept[t])))
    case.documents["config.json"]["training"]["stopping_rules"][0]["limit"] = 60
    case.add_thermal(90.0, 60.0)
    case.add_thermal(35.0, 30.0, anticipated_config={"lead_stages": lead})
    case.add_hydro(20.0, 40.0, downstream=1, travel_time_hours=100.0, flow=60.0, inflow=[15.0] * len(kept))
    case.add_hydro(5.0, 15.0, flow=80.0, inflow=[4.0] * len(kept))
    initial = case.documents["initial_conditions.json"]
    initial["past_defluences"] = [
        {
            "hydro_id": 0,
            "start_date": str(start - dt.timedelta(days=5)),
            "end_date": str(start),
            "value_m3s": 9.0,
        }
    ]
    ends = [start + dt.timedelta(days=sum(kept[:t])) for t in range(lead + 1)]
    initial["past_anticipated_commitments"] = [
        {"thermal_id": 1, "start_date": str(a), "end_date": str(b), "value_mw": 12.0 + t}
        for t, (a, b) in enumerate(pairwise(ends))
    ]
    return case


def test_water_under_way_keeps_its_value_at_a_boundary_of_another_calendar(tmp_path):
    """What is under way after a fortnight arrives within the month that the policy knows."""
    days = [7, 7, 14, 30, 30]
    whole = long_study(days, lead=1)
    for case in (whole, short := long_study(days[:3], lead=1)):
        del case.documents["system/thermals.json"]["thermals"][1]["anticipated_config"]
        case.documents["initial_conditions.json"]["past_anticipated_commitments"] = []
    source = cobre.train(whole.write(tmp_path / "whole"))
    part = cobre.train(short.write(tmp_path / "part"), boundary=source.policy)
    assert part.final_lower_bound == pytest.approx(source.final_lower_bound, rel=1e-9)
    slots = source.policy.slots[2]
    assert slots["in_transit1:1"] == ("2025-01-29", "2025-02-28")
    target = Carried.of(cobre.load_case(tmp_path / "part"), is_open_ended=True).intervals(2)
    assert target[0] == ("2025-01-29", "2025-02-12")


def test_commitments_keep_their_value_at_a_boundary(tmp_path):
    days = [10, 10, 10, 10, 10]
    source = cobre.train(long_study(days).write(tmp_path / "whole"))
    part = long_study(days[:3])
    part.documents["post_study_stages.json"] = {
        "stages": [
            {"start_date": str(START + dt.timedelta(days=30 + 10 * k)), "duration_hours": 240.0}
            for k in (0, 1)
        ],
        "thermal_bounds": [
            {
                "thermal_id": 1,
                "post_study_stage_index": k,
                "cost_per_mwh": 35.0,
                "min_mw": 0.0,
                "max_mw": 30.0,
            }
            for k in (0, 1)
        ],
    }
    found = cobre.train(part.write(tmp_path / "part"), boundary=source.policy)
    assert found.final_lower_bound == pytest.approx(source.final_lower_bound, rel=1e-9)


def test_a_policy_starts_the_study_of_the_next_stage(tmp_path):
    """Commitments change their slots when the first stage is left out; dates tell which is which."""
    days = [10, 10, 10, 10, 10]
    policy = cobre.train(long_study(days).write(tmp_path / "whole")).policy
    rest = long_study(days, first=1).write(tmp_path / "rest")
    known = cobre.train(rest, warm_start=policy, config_overrides=RATES)
    learned = cobre.train(rest)
    assert known.final_lower_bound == pytest.approx(learned.final_lower_bound, rel=1e-6)


SLOTS = {
    "in_transit1:4": ("2025-01-01", "2025-02-01"),
    "in_transit2:4": ("2025-02-01", "2025-03-01"),
    "commitment0:7": ("2025-04-01", "2025-05-01"),
    "commitment1:7": ("2025-03-01", "2025-04-01"),
}
SOURCE = Source(["storage:4", *SLOTS], SLOTS)


def test_water_is_divided_by_when_it_arrives():
    assert weights(SOURCE, "in_transit1:4", ("2025-01-06", "2025-01-13")) == [(1, 1.0)]
    found = dict(weights(SOURCE, "in_transit1:4", ("2025-01-25", "2025-02-08")))
    assert found == pytest.approx({1: 0.5, 2: 0.5})


def test_a_commitment_counts_by_hours_of_the_delivery_of_the_policy():
    (week,) = weights(SOURCE, "commitment0:7", ("2025-04-07", "2025-04-14"))
    assert week == (3, pytest.approx(168 / 720))
    assert weights(SOURCE, "commitment0:7", ("2025-04-01", "2025-05-01")) == [(3, 1.0)]
    both = dict(weights(SOURCE, "commitment0:7", ("2025-02-26", "2025-03-05")))
    assert both == pytest.approx({4: 4 * 24 / 744 * 7 / 4})  # four of seven days are known and speak for all
    assert weights(SOURCE, "commitment0:9", ("2025-04-01", "2025-05-01")) == []
