"""Training against the whole scenario tree solved as one LP."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cobre.core.config import ScenarioSource
from cobre.core.horizon import RiskMeasure
from cobre.core.scenarios import GivenScenarios
from cobre.errors import ValidationError
from sddp.specs import StageSpec
from sddp.studies import stages, study
from sddp.trained import assert_optimal, bounds, optimum, settings, trained

CASES = {
    "white noise": study(),
    "uncertain load": study(load_std=6.0),
    "uncertain source": study(source_std=0.2),
    "latin hypercube": study(stages(sampling="lhs")),
    "discounting": study(stages(discount=0.9)),
    "cvar": study(stages(risk=RiskMeasure(weight=1.0, tail=0.5)), training=settings(80, 3)),
    "part cvar": study(stages(risk=RiskMeasure(weight=0.4, tail=0.3)), training=settings(80, 3)),
    "discounted cvar": study(
        stages(discount=0.95, risk=RiskMeasure(weight=0.5, tail=0.5)), training=settings(80, 3)
    ),
    "one lag": study(hydro={"lags": [0.6], "residual_ratio": 0.8, "past": [22.0]}, training=settings(80, 3)),
    "two lags": study(
        hydro={"lags": [0.5, 0.3], "residual_ratio": 0.8, "past": [22.0, 14.0]}, training=settings(100, 3)
    ),
    "negative inflows for money": study(
        hydro={"lags": [0.6], "past": [1.0], "costs": {"negative_inflow": 40.0}},
        non_negativity="penalty",
        training=settings(80, 3),
    ),
    "different numbers of openings": study([StageSpec((200.0, 100.0), n) for n in (1, 4, 2, 3)]),
    "clamped inflows without lags": study(non_negativity="truncation"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bound_reaches_the_optimum_of_the_tree_from_below(name):
    case = CASES[name]
    assert_optimal(bounds(trained(case)), optimum(case))


def test_the_bound_never_falls():
    found = bounds(trained(CASES["two lags"]))
    assert all(after >= before - 1e-8 * abs(before) for before, after in pairwise(found))


def test_the_upper_bound_of_a_single_path_is_its_cost():
    case = study([StageSpec((200.0, 100.0), 1)] * 4, training=settings(40))
    result = trained(case)
    assert result.final_upper_bound == pytest.approx(optimum(case), rel=1e-7)
    assert result.final_gap == pytest.approx(0.0, abs=1e-7)
    last = result.convergence_history.slice(result.iterations - 1).to_pylist()[0]
    assert (last["upper_bound_std"], last["ci_95"]) == (0.0, 0.0)


def test_discounted_costs_of_a_single_path():
    case = study([StageSpec((200.0, 100.0), 1, discount=0.8)] * 4, training=settings(40))
    assert trained(case).final_upper_bound == pytest.approx(optimum(case), rel=1e-7)


def clamped(method):
    return study(
        hydro={"lags": [0.6], "residual_ratio": 0.8, "past": [3.0], "costs": {"negative_inflow": 50.0}},
        non_negativity=method,
        training=settings(80, 3),
    )


@pytest.mark.parametrize("method", ["truncation", "truncation_with_penalty"])
def test_clamped_inflows_with_lags_keep_the_bound_below_the_optimum(method):
    case = clamped(method)
    noise = case.scenarios.inflow
    dry = replace(noise, mean_m3s=noise.mean_m3s * 0.4)
    case = replace(case, scenarios=replace(case.scenarios, inflow=dry))
    expected = optimum(case)
    found = bounds(trained(case))
    assert max(found) <= expected * (1 + 1e-9)
    assert found[-1] >= expected * 0.9
    unclamped = replace(case, config=replace(case.config, inflow_non_negativity="none"))
    assert optimum(unclamped) > expected * 1.01  # otherwise nothing was clamped, and this test says nothing


def test_openings_given_by_the_user_are_the_tree():
    given = [np.random.default_rng(stage).normal(size=(3, 2)).tolist() for stage in range(4)]
    case = study(given_openings=given)
    expected = optimum(case)
    assert trained(case).final_lower_bound == pytest.approx(expected, rel=1e-6)
    assert expected != pytest.approx(optimum(study()), rel=1e-4)


def test_fresh_noise_in_trajectories_bounds_the_same_tree():
    case = study(training=settings(60, 3, scenario_source=ScenarioSource("out_of_sample", seed=7)))
    expected = optimum(case)
    found = bounds(trained(case))
    assert max(found) <= expected * (1 + 1e-8)
    assert found[-1] >= expected * 0.999  # trial points lie elsewhere than the tree's own


def test_lags_that_stand_still_within_a_month():
    """Four stages that are the halves of two months: lags are means of months, gathered in an accumulator."""
    case = study(
        hydro={"lags": [0.6], "residual_ratio": 0.8, "past": [22.0], "costs": {"negative_inflow": 40.0}},
        non_negativity="penalty",
        training=settings(100, 3),
    )
    days = [
        dt.date(2030, 1, 1),
        dt.date(2030, 1, 12),
        dt.date(2030, 2, 1),
        dt.date(2030, 2, 10),
        dt.date(2030, 3, 1),
    ]
    halves = tuple(
        replace(stage, start_date=start, end_date=end, season_id=start.month - 1)
        for stage, (start, end) in zip(case.horizon.stages, pairwise(days), strict=True)
    )
    case = replace(case, horizon=replace(case.horizon, stages=halves))
    expected = optimum(case)
    result = trained(case)
    assert result.policy.state_dimension == 6  # storage, lag and accumulator of two hydros
    assert result.final_lower_bound == pytest.approx(expected, rel=1e-6)
    assert max(bounds(result)) <= expected * (1 + 1e-8)


def external(n):
    """Inflows of both hydros for ``n`` scenarios in each of four stages, loads of the first bus."""
    rng = np.random.default_rng(9)
    stage, scenario, entity = (grid.ravel() for grid in np.indices((4, n, 2)))
    return GivenScenarios(stage, scenario, entity, rng.uniform(2.0, 20.0, size=stage.size))


@pytest.mark.parametrize("n", [2, 50])
def test_trajectories_from_a_file_bound_the_same_tree(n):
    training = settings(60, 3, scenario_source=ScenarioSource(inflow="external"))
    case = study(hydro={"lags": [0.4], "residual_ratio": 0.9, "past": [9.0]}, training=training)
    case = replace(case, scenarios=replace(case.scenarios, external_inflow=external(n)))
    expected = optimum(case)  # two scenarios leave two openings
    found = bounds(trained(case))
    assert max(found) <= expected * (1 + 1e-8)
    assert found[-1] >= expected * (0.95 if n > 3 else 0.8)  # trajectories see other states than the tree has
    in_sample = replace(case, config=replace(case.config, training=settings(60, 3)))
    assert (optimum(in_sample) == expected) is (n > 3)


def test_a_source_that_is_not_there_is_refused():
    case = study(training=settings(3, scenario_source=ScenarioSource(load="external")))
    with pytest.raises(ValidationError, match="external_load_scenarios"):
        trained(case)
