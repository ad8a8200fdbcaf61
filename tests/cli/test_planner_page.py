"""The page of a simulation that a planner reads: what it says, and that it fits the screen."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import cobre
from case_folders import full_case
from cobre.cli.outcome import bound_text, comparable_bound
from cobre.cli.planner_page import bound_line, page
from cobre.core.config import ScenarioSource
from simulation.hand_cases import one_hydro, short_and_long

RISK_NEUTRAL = {"gap_estimate": {"status": "within"}, "final_lower_bound": 12.5}

SHORT = {"training": {"forward_passes": 1, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}


def simulated(case, scenarios=20):
    return cobre.simulate(case, cobre.train(case).policy, scenarios=scenarios)


def in_seasons(case, seasons):
    """The case with these seasons for its stages."""
    stages = tuple(
        replace(stage, season_id=season) for stage, season in zip(case.horizon.stages, seasons, strict=True)
    )
    return replace(case, horizon=replace(case.horizon, stages=stages))


def text_under(lines, label):
    """The line with a label and those that follow without one."""
    labels = [each for each, _ in lines]
    start = labels.index(label)
    stop = next((k for k in range(start + 1, len(labels)) if labels[k]), len(labels))
    return [text for _, text in lines[start:stop]]


@pytest.fixture(scope="module")
def hydro():
    return simulated(one_hydro())


def test_supply_is_demand_and_what_is_supplied_beyond_it(tmp_path):
    full_case(tmp_path).write()
    supply, beyond = text_under(page(simulated(cobre.load_case(tmp_path, SHORT), 2), None, 80), "supply")
    assert beyond.startswith("beyond demand: pumping ")
    percent = [sum(float(number) for number in re.findall(r"([\d.]+) %", text)) for text in (supply, beyond)]
    assert percent[0] - percent[1] == pytest.approx(100.0, abs=0.5)


@pytest.mark.parametrize("width", [60, 80])
def test_its_tables_fit_the_screen(hydro, width):
    for label, text in page(hydro, None, width):
        assert label or len(text) <= width - 13, text


def test_it_answers_what_planners_ask(hydro):
    lines = page(hydro, None, 80)
    statistics = hydro.statistics
    assert text_under(lines, "cost")[0].startswith(f"{statistics['mean_cost']:,.2f} ± ")
    share = 100 * statistics["deficit_frequency"]
    assert text_under(lines, "deficit")[0].startswith(f"in {share:.1f} % of the scenarios; ")
    supply = text_under(lines, "supply")[0]
    assert supply.startswith("hydro ")
    assert supply.endswith(" % of a demand of 3,333 MWh")
    assert [text.split()[:2] for text in text_under(lines, "storage")[1:]] == [
        ["H0", "95"], ["50", "%"], ["5", "%"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "half_width", "says"),
    [
        (1000.0, 0.0, "equals the mean cost"),
        (1000.0 - 1e-6, 1e-7, "equals the mean cost"),  # equal scenarios, added up in another order
        (990.0, 0.0, "lies below the mean cost"),
        (1000.0 - 1e-6, 5.0, "lies within the interval"),
        (990.0, 5.0, "lies below the interval"),
        (1010.0, 5.0, "lies above the interval: too few scenarios to tell the mean cost"),
    ],
)
def test_where_the_lower_bound_lies(bound, half_width, says):
    assert bound_line(bound, 1000.0, half_width) == f"lower bound {bound:,.2f} {says}"


def test_marginal_cost_by_season_where_all_stages_have_one():
    without = simulated(in_seasons(short_and_long(), [4, None, 4]), scenarios=1)
    heading, row = text_under(page(without, None, 80), "price")
    assert heading.endswith("its mean by stage")
    assert len(row.split()[-1]) == 3
    in_two = simulated(in_seasons(short_and_long(), [4, 7, 4]), scenarios=1)
    heading, row = text_under(page(in_two, None, 80), "price")
    assert heading.endswith("its mean by season")
    assert row.split()[-1] == "▁█"  # of seasons 4 and 7; the dear stage is the only one of season 7


def test_the_lower_bound_is_compared_with_scenarios_of_the_openings_only(hydro):
    assert comparable_bound(RISK_NEUTRAL, hydro) == 12.5
    case = one_hydro()
    other = replace(case.config.simulation, scenario_source=ScenarioSource("out_of_sample", seed=3))
    fresh = simulated(replace(case, config=replace(case.config, simulation=other)), scenarios=2)
    assert comparable_bound(RISK_NEUTRAL, fresh) is None


def test_a_bound_that_counts_what_follows_the_last_stage_is_not_compared(hydro):
    """With a boundary policy, and in a cycle, the bound is far above the cost of the simulated stages."""
    assert bound_text(RISK_NEUTRAL, hydro).startswith("lower bound 12.50 lies ")
    for cuts, is_compared in (([3, 0], True), ([3, 5], False)):
        metadata = {**RISK_NEUTRAL, "policy": {"cuts_per_stage": cuts}}
        assert (comparable_bound(metadata, hydro) is not None) == is_compared
        text = bound_text(metadata, hydro)
        assert text.startswith("lower bound") == is_compared
        assert ("what follows the last stage" in text) != is_compared
