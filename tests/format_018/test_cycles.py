"""Horizons without end, with water that takes time and thermals that are decided ahead: as a chain of many rounds."""

from __future__ import annotations

import datetime as dt

import pytest

import cobre
from format_018.small import START, Case018
from sddp.trained import digest
from simulation.balances import rows

DAYS, ROUNDS, GO_ON, RATE = 30, 12, 0.25, 0.1
LOADS, ABOVE, BELOW = (70.0, 105.0, 90.0), (18.0, 33.0, 12.0), (9.0, 4.0, 22.0)


def study(n_rounds: int, first: int, lead: int, hours: float, is_chronological: bool) -> Case018:
    """A river of ``hours``, and a plant that is decided ``lead`` stages ahead where these are not 0.

    Three stages, of which those from ``first`` on come again: ``n_rounds`` times, or without end if 0."""
    repeated = [first + t % (3 - first) for t in range(n_rounds * (3 - first))]
    stages = [0, 1, 2, *repeated]
    blocks = [240.0, 480.0] if is_chronological else [720.0]
    case = Case018([blocks] * len(stages), [1.0], days=[DAYS] * len(stages))
    case.add_thermal(30.0, 40.0)
    case.add_thermal(90.0, 60.0)
    initial = case.documents["initial_conditions.json"]
    river = {"travel_time_hours": hours} if hours else {}
    case.add_hydro(
        40.0, 100.0, flow=30.0, productivity=0.6, downstream=1, inflow=[ABOVE[t] for t in stages], **river
    )
    case.add_hydro(20.0, 60.0, flow=70.0, productivity=0.5, inflow=[BELOW[t] for t in stages])
    if hours:
        window = {"start_date": str(START - dt.timedelta(days=60)), "end_date": str(START)}
        initial["past_defluences"] = [{"hydro_id": 0, **window, "value_m3s": 10.0}]
    if lead:
        case.add_thermal(15.0, 25.0, anticipated_config={"lead_stages": lead})
        window = {"start_date": str(START), "end_date": str(START + dt.timedelta(days=DAYS * lead))}
        initial["past_anticipated_commitments"] = [{"thermal_id": 2, **window, "value_mw": 5.0}]
    shares = [0.8, 1.2][: len(blocks)]
    case.set_load_factors([LOADS[t] * each for each in shares] for t in stages)
    document = case.documents["stages.json"]
    document["policy_graph"]["annual_discount_rate"] = RATE
    for stage in document["stages"]:
        stage["block_mode"] = "chronological" if is_chronological else "parallel"
    if n_rounds:
        # The chance to go on is a discount where nothing is random.
        factor = GO_ON * (1.0 + RATE) ** (-DAYS / 365.25)
        for stage in document["stages"][2 :: 3 - first]:
            stage["annual_discount_rate_override"] = factor ** (-365.25 / DAYS) - 1.0
    else:
        back = {"source_id": 2, "target_id": first, "probability": GO_ON}
        document["policy_graph"].update(type="cyclic", transitions=[back])
    training = case.documents["config.json"]["training"]
    training["scenario_source"] = {"seed": 3}
    training["selection"]["forward_passes"] = 2
    training["stopping_rules"] = [
        {"type": "iteration_limit", "limit": 400},
        {"type": "bound_stalling", "iterations": 40, "tolerance": 1e-12},
    ]
    return case


@pytest.mark.parametrize(
    ("first", "lead", "hours", "is_chronological"),
    [(0, 1, 0.0, False), (1, 2, 0.0, True), (2, 2, 0.0, False), (0, 2, 200.0, False), (1, 0, 1000.0, True)],
)
def test_a_cycle_costs_what_many_rounds_cost(tmp_path, first, lead, hours, is_chronological):
    cycle = study(0, first, lead, hours, is_chronological).write(tmp_path / "cycle")
    chain = study(ROUNDS, first, lead, hours, is_chronological).write(tmp_path / "chain")
    expected = cobre.train(chain).final_lower_bound
    assert cobre.train(cycle).final_lower_bound == pytest.approx(expected, rel=1e-6)


def test_more_stages_ahead_than_a_round_has(tmp_path):
    cycle = study(0, 2, 3, 0.0, False).write(tmp_path / "cycle")
    chain = study(ROUNDS, 2, 3, 0.0, False).write(tmp_path / "chain")
    expected = cobre.train(chain).final_lower_bound
    assert cobre.train(cycle).final_lower_bound == pytest.approx(expected, rel=1e-6)


def test_nothing_comes_after_a_cycle(tmp_path):
    case = study(0, 0, 0, 0.0, False)
    end = str(START + dt.timedelta(days=3 * DAYS))
    case.documents["post_study_stages.json"] = {"stages": [{"start_date": end, "duration_hours": 720.0}]}
    (error,) = cobre.validate(case.write(tmp_path / "case")).errors
    assert (error.file, error.field) == ("post_study_stages.json", "stages")


def test_any_ranks_and_a_run_that_is_continued_have_the_same_bits(tmp_path):
    folder = study(0, 1, 2, 200.0, False).write(tmp_path / "case")
    short, begun = (
        {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": n}]}} for n in (5, 3)
    )
    alone = digest(cobre.train(folder, config_overrides=short))
    assert digest(cobre.train(folder, 2, backend="shm", config_overrides=short)) == alone
    cobre.train(folder, config_overrides=begun, output=tmp_path / "out")
    options = {"backend": "tcp", "output": tmp_path / "out", "resume": tmp_path / "out"}
    assert digest(cobre.train(folder, 2, config_overrides=short, **options)) == alone


def test_a_simulation_shows_what_is_decided_for_the_next_round(tmp_path):
    folder = study(0, 0, 2, 0.0, False).write(tmp_path / "case")
    result = cobre.simulate(folder, cobre.train(folder).policy, scenarios=1)
    found = rows(result, "anticipated_lanes")
    last = [row for row in found if row["stage_id"] == 2]
    dates = [START + dt.timedelta(days=DAYS * stage) for stage in (3, 4)]
    assert [row["delivery_date"] for row in last] == [int(f"{date:%Y%m%d}") for date in dates]
    assert last[1]["deposited_decision_mw"] == last[1]["carried_committed_mw"]
