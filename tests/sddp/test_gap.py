"""What is said about the gap: only what the sampled trajectories can tell."""

from __future__ import annotations

import random
import statistics

import pytest

import cobre
from case_folders import example_case
from cobre.sddp.gap import comparison_of, estimate_gap

CVAR = {"cvar": {"alpha": 0.2, "lambda": 0.5}}


def estimate(lower, means, deviations=None, n=1, comparison="sampled"):
    return estimate_gap(lower, means, deviations or [0.0] * len(means), n, comparison)


def test_the_mean_and_its_interval_are_those_of_all_trajectories_of_the_last_iterations():
    draw = random.Random(1)
    costs = [[draw.gauss(100.0, 10.0) for _ in range(8)] for _ in range(20)]
    means, deviations = [statistics.mean(each) for each in costs], [statistics.stdev(each) for each in costs]
    found = estimate(99.0, means, deviations, 8)
    last = [cost for each in costs[10:] for cost in each]
    assert (found.trajectories, found.iterations) == (80, 10)
    assert found.mean_cost == pytest.approx(statistics.mean(last))
    assert found.half_width == pytest.approx(1.9905 * statistics.stdev(last) / 80**0.5, rel=1e-3)


def test_no_more_than_about_a_hundred_trajectories_are_taken_together():
    found = estimate(1.0, [2.0] * 500, [1.0] * 500, 30)
    assert (found.trajectories, found.iterations) == (120, 4)


def test_a_bound_within_the_interval_tells_how_large_the_gap_may_be_and_no_number_below_zero():
    found = estimate(101.0, [90.0, 110.0, 90.0, 110.0, 95.0, 105.0], n=1)
    assert found.status == "within"
    assert found.gap is None
    highest = found.mean_cost + found.half_width
    assert found.largest_gap == pytest.approx((highest - 101.0) / highest)


def test_a_bound_below_the_interval_is_not_there_yet():
    found = estimate(50.0, [99.0, 100.0, 101.0] * 4)
    assert found.status == "not_yet"
    assert found.gap == pytest.approx(0.5)


def test_costs_far_below_the_bound_come_from_too_small_a_sample_and_give_no_gap():
    found = estimate(2605295.0, [572791.0] * 20)
    assert (found.status, found.gap, found.largest_gap) == ("above", None, None)


@pytest.mark.parametrize("means", [[3.0], [3.0, 4.0], [3.0, 4.0, 5.0]])
def test_one_trajectory_gives_no_gap(means):
    found = estimate(1.0, means)
    assert (found.status, found.gap, found.trajectories) == ("one_trajectory", None, 1)


@pytest.mark.parametrize("comparison", ["risk_adjusted", "other_scenarios"])
def test_incomparable_bounds_give_a_mean_cost_and_no_gap(comparison):
    found = estimate(500.0, [90.0, 110.0] * 4, [5.0] * 8, 4, comparison)
    assert (found.status, found.gap, found.largest_gap) == (comparison, None, None)
    assert found.mean_cost == 100.0
    assert found.half_width > 0.0


def test_a_study_with_one_trajectory_has_an_exact_gap_without_earlier_iterations():
    assert estimate(75.0, [900.0, 100.0], comparison="exact").gap == 0.25
    found = estimate(100.0 * (1 - 1e-12), [900.0, 100.0], comparison="exact")
    assert (found.status, found.half_width) == ("within", 0.0)


def with_stages(case, **changes):
    for stage in case.documents["stages.json"]["stages"]:
        stage.update(changes)


def test_how_a_study_compares_follows_its_openings_its_risk_measures_and_its_trajectories(tmp_path):
    def compared(name, change, overrides=None):
        case = example_case(tmp_path / name)
        change(case)
        return comparison_of(cobre.load_case(case.write(), overrides))

    source = {"training": {"scenario_source": {"seed": 1, "inflow": {"scheme": "out_of_sample"}}}}
    assert compared("plain", lambda case: None) == "sampled"
    assert compared("cvar", lambda case: with_stages(case, risk_measure=CVAR)) == "risk_adjusted"
    assert compared("one", lambda case: with_stages(case, num_scenarios=1, risk_measure=CVAR)) == "exact"
    assert compared("other", lambda case: None, source) == "other_scenarios"


def test_training_reports_the_estimate_with_every_event_and_with_the_result(tmp_path):
    limit = {"training": {"forward_passes": 3, "stopping_rules": [{"type": "iteration_limit", "limit": 4}]}}
    events = []
    case = cobre.load_case(example_case(tmp_path / "case").write(), limit)
    result = cobre.train(case, progress_callback=events.append)
    assert [event.gap_estimate.trajectories for event in events] == [3, 3, 3, 6]
    assert result.gap_estimate == events[-1].gap_estimate
    assert events[-1].to_dict()["gap_estimate"]["status"] == result.gap_estimate.status
    history = result.convergence_history.to_pydict()
    mean = statistics.mean(history["upper_bound"][-2:])
    assert result.gap_estimate.mean_cost == pytest.approx(mean)
    assert result.final_gap == history["gap"][-1]
