"""Trajectories from files of scenarios."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.config import ScenarioSource
from cobre.core.scenarios import GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic import (
    ExternalScenarios,
    ForwardSampler,
    InflowInversion,
    InflowModel,
    LagTransition,
    NoiseEntities,
    NormalInversion,
    PastRecord,
    clamp_openings,
    external_scenario,
    generate_tree,
    load_mw,
)
from cobre.stochastic.moments import scenario_moments
from noise_recipe import coefficients, months, statistics


def _stages(n=4, openings=6):
    return months(n, n_openings=openings)


def _given(values):
    """Rows of (stages, scenarios, entities), shuffled."""
    index = np.indices(values.shape).reshape(3, -1)
    order = np.random.default_rng(0).permutation(index.shape[1])
    return GivenScenarios(*index[:, order], values.reshape(-1)[order])


def test_an_external_load_comes_about_as_given():
    mean, std = np.full((4, 1), 80.0), np.array([[5.0], [10.0], [1.0], [5.0]])
    values = np.random.default_rng(1).uniform(60.0, 100.0, size=(4, 7, 1))
    external = ExternalScenarios.of(
        _given(values), "external_load_scenarios", _stages(), 1, NormalInversion(mean, std)
    )
    eta = external.sample(3, range(9))
    for i in range(9):
        assert load_mw(mean, std, eta[:, i]) == pytest.approx(values[:, external_scenario(3, i, 7)])


def test_an_external_inflow_comes_about_as_given_through_the_lags():
    stages = _stages()
    rows = [(h, t, 50.0, 10.0) for h in range(2) for t in range(-2, 4)]
    lags = coefficients(*[(h, t, lag, 0.4 / lag, 0.9) for h in range(2) for t in range(4) for lag in (1, 2)])
    model = InflowModel.build(stages, 2, statistics(*rows), lags)
    transition = LagTransition.build(stages, 2)
    start = transition.initial(PastRecord(np.array([[40.0, 60.0], [30.0, 70.0]])))
    values = np.random.default_rng(2).uniform(0.0, 90.0, size=(4, 5, 2))
    external = ExternalScenarios.of(
        _given(values), "external_inflow_scenarios", stages, 2, InflowInversion(model, transition, start)
    )
    eta = external.sample(1, range(12))
    for i in range(12):
        components = start
        for t in range(4):
            inflow = model.inflow(t, components, eta[t, i])
            assert inflow == pytest.approx(values[t, external_scenario(1, i, 5)])
            components = transition.advance(t, components, inflow)


def _numbered(*counts):
    """Scenario k of a stage has the value k; η is the value itself."""
    tables = [np.arange(float(n))[:, None] for n in counts]
    inversion = NormalInversion(np.zeros((len(counts), 1)), np.ones((len(counts), 1)))
    return ExternalScenarios("external_load_scenarios", _stages(len(counts)), tables, inversion)


def test_a_trajectory_follows_one_scenario_and_stages_with_fewer_repeat_theirs():
    external = _numbered(3, 5, 3, 2)
    assert external.n_scenarios == 5
    values = external.sample(1, range(20))[..., 0]
    for i in range(20):
        k = external_scenario(1, i, 5)
        assert values[:, i].tolist() == [k % 3, k, k % 3, k % 2]


def test_external_classes_follow_the_same_scenario_together():
    stages, entities = _stages(2), NoiseEntities(1, load_buses=(0,))
    source = ScenarioSource(inflow="external", load="external", seed=1)
    tree = generate_tree(1, stages, 2)
    both = {"inflow": _numbered(4, 4), "load": _numbered(4, 4)}
    eta = ForwardSampler(tree, 1, stages, entities, source, 9, external=both).sample(2, range(9))
    expected = [external_scenario(2, i, 4) for i in range(9)]
    assert len(set(expected)) > 1
    assert all(eta[:, t, e].tolist() == expected for t in range(2) for e in range(2))


def test_no_stage_keeps_more_openings_than_there_are_scenarios():
    assert [s.n_openings for s in clamp_openings(_stages(), [3, 9, 6, 1])] == [3, 6, 6, 1]


def test_replayed_inflows_have_the_pinned_noise():
    stages = months(2)
    model = InflowModel.build(
        stages,
        1,
        statistics(*[(0, t, 160.0, 25.0) for t in (-1, 0, 1)]),
        coefficients((0, 0, 1, 0.5, 1.0), (0, 1, 1, 0.5, 1.0)),
    )
    transition = LagTransition.build(stages, 1)
    start = transition.initial(PastRecord(np.array([[110.0]])))
    eta = InflowInversion(model, transition, start).solve(np.array([[[130.0]], [[95.0]]]))
    assert eta.ravel() == pytest.approx([-0.2, -2.0])
    white = InflowModel.build(stages, 1, statistics((0, 0, 100.0, 30.0), (0, 1, 100.0, 30.0)))
    nothing = LagTransition.build(stages, 0)
    eta = InflowInversion(white, nothing, np.zeros((0, 1))).solve(np.array([[[120.0]], [[90.0]]]))
    assert eta.ravel() == pytest.approx([2 / 3, -1 / 3])


def test_a_negative_inflow_is_raised_to_zero_by_the_pinned_noise():
    model = InflowModel(np.array([[[0.48]]]), np.array([[28.62]]), np.array([[70.0]]))
    found = model.truncated_eta(0, np.array([[90.0]]), np.array([-5.0]))
    assert found[0] == pytest.approx(-113.2 / 28.62, rel=1e-14)
    assert model.inflow(0, np.array([[90.0]]), found)[0] == pytest.approx(0.0, abs=1e-12)


def test_scenarios_without_statistics_have_their_own_mean_and_deviation():
    mean, std, is_given = scenario_moments(_given(np.array([[[10.0, 7.0], [20.0, 7.0]]])), 3, 1)
    assert mean.tolist() == [[15.0], [7.0], [0.0]]
    assert std.tolist() == [[5.0], [0.0], [0.0]]
    assert is_given.ravel().tolist() == [True, True, False]


def test_a_value_that_no_noise_can_give_is_refused_with_its_place():
    mean, std = np.full((2, 1), 80.0), np.array([[5.0], [0.0]])
    tables = [np.array([[80.0], [85.0]]), np.array([[80.0], [80.5]])]
    external = ExternalScenarios("external_load_scenarios", _stages(2), tables, NormalInversion(mean, std))
    assert external.noise([0])[:, 0, 0].tolist() == [0.0, 0.0]
    with pytest.raises(
        ValidationError, match="stage 1, scenario 1: the value 80.5 of entity 0 .* no deviation"
    ):
        external.noise([0, 1])


@pytest.mark.parametrize("fault", ["missing stage", "missing row", "repeated row", "unknown entity", "nan"])
def test_incomplete_external_scenarios_are_refused(fault):
    given = _given(np.ones((4, 3, 2)))
    columns = {name: getattr(given, name).copy() for name in ("stage", "scenario", "entity", "value")}
    last = int(np.flatnonzero((given.stage == 1) & (given.scenario == 0))[0])
    keep = np.ones(24, dtype=bool)
    if fault == "missing stage":
        keep = given.stage != 1
    elif fault == "missing row":
        keep[last] = False
    elif fault == "repeated row":
        columns["entity"][last] = 1 - columns["entity"][last]
    elif fault == "unknown entity":
        columns["entity"][last] = 2
    else:
        columns["value"][last] = np.nan
    given = GivenScenarios(*(column[keep] for column in columns.values()))
    with pytest.raises(ValidationError, match="external_load_scenarios, stage 1: "):
        ExternalScenarios.of(
            given, "external_load_scenarios", _stages(), 2, NormalInversion(np.ones((4, 2)), np.ones((4, 2)))
        )
