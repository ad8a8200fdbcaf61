"""Thermals that are decided ahead: who decides, hand-worked optima, slopes of cuts, tables, what is refused."""

from __future__ import annotations

import datetime as dt

import pyarrow.parquet as pq
import pytest

import cobre
from cobre.core.clock import Clock, decider
from cobre.core.entities import LeadTime
from cobre.core.horizon import Block, Horizon, Stage
from cobre.sddp.commitments import Commitments
from format_018.small import START, Case018
from simulation.balances import assert_energy, assert_money, rows

DAY = 24.0


def clock_of(*hours: float) -> Clock:
    days = [START + dt.timedelta(days=t) for t in range(len(hours) + 1)]
    stages = [Stage(t, days[t], days[t + 1], (Block(0, "b", each),), 1) for t, each in enumerate(hours)]
    return Clock(Horizon(tuple(stages)))


@pytest.mark.parametrize(
    ("hours", "lead", "expected"),
    [
        ([168.0] * 4 + [720.0] * 3, 720.0, [-1, -1, -1, -1, 3, 4, 5]),
        ([700.0, 744.0], 720.0, [-1, 1]),
        ([730.0, 730.0, 730.0, 720.0, 744.0, 720.0], 1450.0, [-1, 0, 1, 1, 3, 4]),
        ([730.0, 730.0, 730.0, 720.0, 744.0, 720.0], 1440.0, [-1, 0, 1, 2, 3, 4]),
        ([720.0] + [168.0] * 4, 750.0, [-1, 0, 0, 0, 0]),
    ],
)
def test_which_stage_decides(hours, lead, expected):
    clock = clock_of(*hours)
    assert [decider(clock, LeadTime(hours=lead), m) for m in range(len(hours))] == expected


def study(days, loads, *plants, backup=(100.0, 200.0), seeds=None, blocks=None) -> Case018:
    """Loads by stage in MW; ``plants`` are (cost, most, config), ``seeds`` MW by plant of the first stages."""
    case = Case018(blocks or [[DAY * each] for each in days], [1.0], days=days)
    case.documents["scenarios/load_factors.json"] = {
        "load_factors": [
            {
                "bus_id": 0,
                "stage_id": t,
                "block_factors": [{"block_id": k, "factor": load} for k in range(len(case.hours[t]))],
            }
            for t, load in enumerate(loads)
        ]
    }
    case.add_thermal(*backup)
    entries = case.documents["initial_conditions.json"].setdefault("past_anticipated_commitments", [])
    for number, (cost, most, config) in enumerate(plants):
        case.add_thermal(cost, most, anticipated_config=config)
        for t, value in enumerate((seeds or [[0.0]] * len(plants))[number]):
            first = START + dt.timedelta(days=sum(days[:t]))
            last = first + dt.timedelta(days=days[t])
            entries.append(
                {"thermal_id": number + 1, "start_date": str(first), "end_date": str(last), "value_mw": value}
            )
    return case


def bound(case: Case018, folder) -> float:
    return cobre.train(case.write(folder / "case")).final_lower_bound


def test_a_cheap_plant_decides_a_stage_ahead(tmp_path):
    case = study([1, 1], [50.0, 50.0], (10.0, 100.0, {"lead_stages": 1}))
    assert bound(case, tmp_path) == pytest.approx(DAY * (50 * 100 + 50 * 10))


def test_a_lead_time_of_one_stage_is_lead_stages_1(tmp_path):
    days = [31, 31, 31]
    by_stages = study(days, [50.0] * 3, (10.0, 100.0, {"lead_stages": 1}))
    by_hours = study(days, [50.0] * 3, (10.0, 100.0, {"lead_time_hours": 744.0}))
    expected = 744.0 * (50 * 100 + 2 * 50 * 10)
    assert bound(by_stages, tmp_path / "a") == pytest.approx(expected)
    assert bound(by_hours, tmp_path / "b") == pytest.approx(expected)


def test_a_lead_time_shorter_than_the_stage_is_none(tmp_path):
    days = [31, 31]
    short = study(days, [50.0] * 2, (10.0, 30.0, {"lead_time_hours": 100.0}), seeds=[[]])
    plain = study(days, [50.0] * 2)
    plain.add_thermal(10.0, 30.0)
    assert bound(short, tmp_path / "a") == bound(plain, tmp_path / "b")


def test_two_stages_ahead_over_six_months(tmp_path):
    case = study(
        [31] * 6, [150.0] * 6, (10.0, 200.0, {"lead_stages": 2}), backup=(5000.0, 500.0), seeds=[[0.0, 0.0]]
    )
    case.documents["penalties.json"]["bus"]["deficit_segments"][0]["cost"] = 9000.0
    ready = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.train(ready)
    assert result.final_lower_bound == pytest.approx(1_120_464_000.0)
    found = rows(cobre.simulate(ready, result.policy, scenarios=1), "thermals")
    decided = [row["anticipated_decision_mw"] for row in found if row["thermal_id"] == 1]
    assert decided == [pytest.approx(150.0)] * 4 + [None, None]


def test_plants_with_different_lead_times_and_seeds(tmp_path):
    case = study(
        [31] * 6,
        [150.0] * 6,
        (50.0, 100.0, {"lead_stages": 2}),
        (40.0, 80.0, {"lead_stages": 4}),
        backup=(500.0, 200.0),
        seeds=[[60.0, 30.0], [20.0, 25.0, 30.0, 35.0]],
    )
    ready = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.train(ready)
    assert result.final_lower_bound == pytest.approx(91_809_600.0)
    simulated = cobre.simulate(ready, result.policy, scenarios=1)
    assert_energy(ready, simulated, 1e-6)
    assert_money(ready, simulated, 1e-6)
    found = rows(simulated, "thermals")
    delivered = {
        plant: [row["generation_mw"] for row in found if row["thermal_id"] == plant] for plant in (1, 2)
    }
    assert delivered[1][:2] == pytest.approx([60.0, 30.0])
    assert delivered[2][:4] == pytest.approx([20.0, 25.0, 30.0, 35.0])
    assert all(row["generation_cost"] == 0.0 for row in found if row["thermal_id"])


def test_deliveries_after_the_study_are_paid_and_discounted(tmp_path):
    case = study(
        [31, 28],
        [50.0, 50.0],
        (10.0, 40.0, {"lead_stages": 1}),
        blocks=[[744.0], [400.0, 272.0]],
    )
    case.tables["constraints/thermal_bounds.parquet"] = [
        {"thermal_id": 1, "stage_id": 0, "block_id": None, "cost_per_mwh": 15.0}
    ]
    case.documents["post_study_stages.json"] = {
        "stages": [{"start_date": "2025-03-01", "duration_hours": 744.0}],
        "thermal_bounds": [
            {
                "thermal_id": 1,
                "post_study_stage_index": 0,
                "cost_per_mwh": 20.0,
                "min_mw": 30.0,
                "max_mw": 40.0,
            }
        ],
    }
    assert bound(case, tmp_path / "plain") == pytest.approx(5_107_200.0)
    case.documents["stages.json"]["policy_graph"]["annual_discount_rate"] = 0.06
    ready = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.train(ready)
    assert result.final_lower_bound == pytest.approx(5_098_376.8126, abs=1e-3)
    simulated = cobre.simulate(ready, result.policy, scenarios=1)
    lanes = [
        (row["stage_id"], row["delivery_date"], row["deposited_decision_mw"], row["carried_committed_mw"])
        for row in rows(simulated, "anticipated_lanes")
    ]
    assert lanes == [(0, 20250201, 40.0, 40.0), (1, 20250301, 30.0, 30.0)]
    paid = [row["anticipated_thermal_cost"] for row in rows(simulated, "costs")]
    factors = 1.06 ** (-31 / 365.25), 1.06 ** (-28 / 365.25)
    assert paid == pytest.approx([672 * 10 * 40 * factors[0], 744 * 20 * 30 * factors[1]])


@pytest.mark.parametrize(
    ("lead", "loads", "most"),
    [(1, [10.0, 20.0], 30.0), (2, [5.0, 10.0, 30.0], 100.0), (3, [5.0, 10.0, 15.0, 30.0], 100.0)],
)
def test_a_commitment_is_worth_the_fuel_that_it_saves(tmp_path, lead, loads, most):
    case = study(
        [1] * len(loads),
        loads,
        (50.0, most, {"lead_stages": lead}),
        backup=(100.0, 50.0),
        seeds=[[0.0] * lead],
    )
    result = cobre.train(case.write(tmp_path / "case"))
    cuts = result.policy.cuts(0)
    names = list(result.policy.state_names)
    slopes = [
        cuts["coefficients"][:, names.index(f"commitment{slot}:1")].min()
        for slot in range(min(lead, len(loads) - 1))
    ]
    assert slopes == pytest.approx([-100.0 * DAY] * len(slopes))


def test_blocks_share_a_commitment_freely(tmp_path):
    case = study([1, 1], [0.0, 0.0], (10.0, 40.0, {"lead_stages": 1}), blocks=[[24.0], [8.0, 16.0]])
    factors = case.documents["scenarios/load_factors.json"]["load_factors"]
    for entry, values in zip(factors, ([1.0], [40.0, 10.0]), strict=True):
        entry["block_factors"] = [{"block_id": k, "factor": value} for k, value in enumerate(values)]
    # 1 MW in the first day. In the second 8 h of 40 MW and 16 h of 10 MW are a mean of 20 MW.
    ready = cobre.load_case(case.write(tmp_path / "case"))
    result = cobre.train(ready)
    assert result.final_lower_bound == pytest.approx(24 * 100 + 24 * 20 * 10)
    found = rows(cobre.simulate(ready, result.policy, scenarios=1), "thermals")
    assert [row["generation_mw"] for row in found if row["thermal_id"] == 1][1:] == pytest.approx(
        [40.0, 10.0]
    )


def test_a_constraint_on_decisions(tmp_path):
    case = study([1] * 4, [50.0] * 4, (10.0, 100.0, {"lead_stages": 2}), seeds=[[0.0, 0.0]])
    assert bound(case, tmp_path / "free") == pytest.approx(DAY * 11_000)
    case.constrain("anticipated_decision(1)", [{"stage_id": t, "bound_upper": 20.0} for t in range(4)])
    assert bound(case, tmp_path / "bound") == pytest.approx(DAY * 16_400)


def test_slots_are_used_in_turn(tmp_path):
    case = study(
        [7] * 4 + [30] * 3,
        [50.0] * 7,
        (10.0, 100.0, {"lead_time_hours": 720.0}),
        seeds=[[1.0, 2.0, 3.0, 4.0]],
    )
    commitments = Commitments(cobre.load_case(case.write(tmp_path / "case")))
    (lane,) = commitments.lanes
    assert lane.n_slots == 4
    assert [len(lane.open_after(t)) for t in range(7)] == [3, 2, 1, 1, 1, 1, 0]
    assert commitments.seed == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert commitments.names == [f"commitment{slot}:1" for slot in range(4)]


def test_decisions_for_days_after_the_study_are_reported(tmp_path):
    case = study([31, 28], [50.0, 50.0], (10.0, 100.0, {"lead_stages": 3}), seeds=[[20.0, 20.0]])
    case.documents["initial_conditions.json"]["past_anticipated_commitments"].append(
        {"thermal_id": 1, "start_date": "2025-03-01", "end_date": "2025-04-01", "value_mw": 7.0}
    )
    case.documents["post_study_stages.json"] = {
        "stages": [{"start_date": "2025-03-01", "duration_hours": 744.0}]
    }
    cobre.train(case.write(tmp_path / "case"), output=tmp_path / "run")
    found = pq.read_table(tmp_path / "run" / "anticipated" / "fixed_deliveries.parquet").to_pylist()
    assert found == [
        {"thermal_id": 1, "start_date": dt.date(2025, 3, 1), "end_date": dt.date(2025, 4, 1), "value_mw": 7.0}
    ]


def _initial(case):
    return case.documents["initial_conditions.json"]["past_anticipated_commitments"]


def _after(case, **cell):
    entry = {"thermal_id": 1, "post_study_stage_index": 0, "cost_per_mwh": 1.0, "min_mw": 0.0, "max_mw": 9.0}
    case.documents["post_study_stages.json"] = {
        "stages": [{"start_date": cell.pop("start", "2025-04-01"), "duration_hours": 720.0}],
        "thermal_bounds": [{**entry, **cell}] if cell.pop("has_cell", True) else [],
    }


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (lambda case: _initial(case).clear(), "past_anticipated_commitments", "given for 0 of its 31 days"),
        (
            lambda case: _initial(case)[0].update(value_mw=55.0),
            "past_anticipated_commitments",
            "limits are 0 and 40",
        ),
        (
            lambda case: _initial(case)[0].update(end_date="2025-02-03"),
            "past_anticipated_commitments",
            "which the study decides",
        ),
        (
            lambda case: _initial(case).append({**_initial(case)[0]} | {"start_date": "2025-01-10"}),
            "past_anticipated_commitments.start_date",
            "overlaps",
        ),
        (lambda case: _after(case, has_cell=False), "thermal_bounds", "has no entry"),
        (lambda case: _after(case, start="2025-04-02"), "stages.start_date", "without a gap"),
        (lambda case: _after(case, min_mw=10.0), "thermal_bounds", "above max_mw"),
        (lambda case: _after(case, post_study_stage_index=3), "thermal_bounds", "the file has 1 stages"),
        (
            lambda case: case.documents["system/thermals.json"]["thermals"][1].update(
                anticipated_config={"lead_stages": 1, "lead_time_hours": 5.0}
            ),
            "anticipated_config",
            "and not both",
        ),
        (
            lambda case: case.tables.update(
                {
                    "constraints/thermal_bounds.parquet": [
                        {"thermal_id": 1, "stage_id": 1, "block_id": 0, "max_generation_mw": 3.0}
                    ]
                }
            ),
            "block_id",
            "decided ahead for whole stages",
        ),
        (
            lambda case: case.constrain("anticipated_decision(0)", [{"stage_id": 0, "bound_upper": 1.0}]),
            "expression",
            "thermal 0 is not decided ahead",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, change, field, words):
    case = study([31, 28, 31], [50.0] * 3, (10.0, 40.0, {"lead_stages": 1}), seeds=[[5.0]])
    change(case)
    errors = cobre.validate(case.write(tmp_path / "case")).errors
    assert {error.field for error in errors} == {field}, errors
    assert words in f"{errors[0].message} {errors[0].remedy}"


def test_one_stage_decides_one_delivery(tmp_path):
    case = study([30, 7, 7], [50.0] * 3, (10.0, 40.0, {"lead_time_hours": 750.0}), seeds=[[5.0]])
    (error,) = cobre.validate(case.write(tmp_path / "case")).errors
    assert error.field == "anticipated_config"
    assert "stage 0 would decide for" in error.message


def test_nothing_to_give_where_nothing_was_decided_before(tmp_path):
    case = study([31, 28], [50.0] * 2, (10.0, 40.0, {"lead_time_hours": 24.0}), seeds=[[]])
    assert cobre.validate(case.write(tmp_path / "case")).errors == ()
