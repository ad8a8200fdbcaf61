from __future__ import annotations

import numpy as np
import pytest

import noise_recipe as recipe
from cobre.core.scenarios import Correlation, CorrelationGroup, GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic import (
    Correlator,
    ExternalScenarios,
    ForwardSampler,
    InflowModel,
    LagTransition,
    NoiseEntities,
    availability_mw,
    clamp_openings,
    draw_noise,
    draw_openings,
    external_scenario,
    generate_tree,
    inflow_residuals,
    load_mw,
    normal_residuals,
)
from noise_recipe import coefficients, months, stage, statistics

ENTITIES = NoiseEntities(2, load_buses=(1,), ncs_sources=(0, 2))


def _stages(n=4, openings=6):
    return months(n, n_openings=openings)


def _sampler(**more):
    stages = more.pop("stages", _stages())
    return ForwardSampler(generate_tree(5, stages, 5), 5, stages, ENTITIES, **more)


def test_openings_agree_with_a_second_implementation():
    n_openings = np.array([1, 10, 3, 1000], dtype=np.uint32)
    drawn = draw_openings(-42, 7, range(3, 40), n_openings)
    for i, scenario in enumerate(range(3, 40)):
        for t, n in enumerate(n_openings.tolist()):
            seed = recipe.hash_of((42, 8), (7, 4), (scenario, 4), (t, 4))
            assert drawn[i, t] == recipe.Pcg64(seed).below(n)


def test_openings_are_met_equally_often():
    drawn = draw_openings(1, 1, range(20_000), np.array([5], dtype=np.uint32))
    assert np.abs(np.bincount(drawn[:, 0]) - 4000).max() < 300


def test_fresh_noise_agrees_with_a_second_implementation():
    stages = [
        stage(0, "2024-01-01", "2024-01-15", 0),
        stage(1, "2024-01-15", "2024-02-01", 0),
        *months(3)[1:],
    ]
    drawn = draw_noise(9, 4, range(2, 6), stages, 3)
    for i, scenario in enumerate(range(2, 6)):
        for t, group in enumerate([0, 0, 1, 2]):
            generator = recipe.Pcg64(recipe.hash_of((1, 1), (9, 8), (4, 4), (scenario, 4), (group, 4)))
            assert drawn[i, t].tolist() == [generator.normal() for _ in range(3)]


def _correlator():
    matrix = ((1.0, 0.7), (0.7, 1.0))
    groups = tuple(
        CorrelationGroup(name, ((name, a), (name, b)), matrix) for name, a, b in [("inflow", 0, 1)]
    )
    return Correlator(Correlation({"default": groups}, "default"), ENTITIES)


@pytest.mark.parametrize("scheme", ["in_sample", "out_of_sample"])
def test_any_split_of_scenarios_gives_the_same_bits(scheme):
    sampler = _sampler(
        schemes=dict.fromkeys(("inflow", "load", "ncs"), scheme), seed=3, correlator=_correlator()
    )
    whole = sampler.sample(2, range(11))
    assert whole.shape == (11, 4, 5)
    for cut in (1, 4, 10):
        parts = np.concatenate([sampler.sample(2, range(cut)), sampler.sample(2, range(cut, 11))])
        assert parts.tobytes() == whole.tobytes()
    assert sampler.sample(3, range(11)).tobytes() != whole.tobytes()
    assert sampler.sample(2, range(0)).shape == (0, 4, 5)


def test_an_in_sample_trajectory_takes_whole_openings():
    sampler = _sampler()
    openings = draw_openings(5, 1, range(8), sampler.tree.layout.n_openings)
    for i in range(8):
        for t in range(4):
            assert (sampler.sample(1, range(8))[i, t] == sampler.tree.stage(t)[openings[i, t]]).all()


def test_classes_may_have_different_schemes():
    mixed = _sampler(schemes={"load": "out_of_sample"}, seed=3).sample(1, range(6))
    in_sample = _sampler().sample(1, range(6))
    fresh = draw_noise(3, 1, range(6), _stages(), 5)
    assert (mixed[..., :2] == in_sample[..., :2]).all()
    assert (mixed[..., 2] == fresh[..., 2]).all()
    assert (mixed[..., 3:] == in_sample[..., 3:]).all()


def test_fresh_noise_of_the_classes_is_independent():
    sampler = _sampler(schemes=dict.fromkeys(("inflow", "load", "ncs"), "out_of_sample"), seed=3)
    values = sampler.sample(1, range(4000))[:, 0]
    assert np.corrcoef(values.T) == pytest.approx(np.eye(5), abs=0.06)


def test_fresh_noise_is_correlated_like_the_tree():
    sampler = _sampler(schemes={"inflow": "out_of_sample"}, seed=3, correlator=_correlator())
    assert np.corrcoef(sampler.sample(1, range(5000))[:, 2, :2].T)[0, 1] == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(
    ("schemes", "seed", "message"),
    [
        ({"inflow": "historical"}, 1, "scenario_source.inflow: historical is not available yet"),
        ({"load": "out_of_sample"}, None, "scenario_source.load: out_of_sample needs a seed"),
        ({"ncs": "external"}, 1, "scenario_source.ncs: external needs scenarios"),
        ({"ncs": "dice"}, 1, "dice is no scheme"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused(schemes, seed, message):
    with pytest.raises(ValidationError, match=message):
        _sampler(schemes=schemes, seed=seed)


def test_scenarios_must_follow_one_another():
    with pytest.raises(ValueError, match="follow one another"):
        _sampler().sample(1, range(0, 10, 2))


def _given(values):
    """Rows of (stages, scenarios, entities), shuffled."""
    index = np.indices(values.shape).reshape(3, -1)
    order = np.random.default_rng(0).permutation(index.shape[1])
    return GivenScenarios(*index[:, order], values.reshape(-1)[order])


def test_an_external_load_comes_about_as_given():
    mean, std = np.full((4, 1), 80.0), np.array([[5.0], [10.0], [0.0], [5.0]])
    values = np.random.default_rng(1).uniform(60.0, 100.0, size=(4, 7, 1))
    external = ExternalScenarios.of(
        _given(values), "external_load_scenarios", _stages(), 1, normal_residuals(mean, std)
    )
    sampler = _sampler(schemes={"load": "external"}, external={"load": external})
    eta = sampler.sample(3, range(9))
    for i in range(9):
        found = load_mw(mean, std, eta[i, :, 2:3])
        expected = values[:, external_scenario(3, i, 7)].copy()
        expected[2] = 80.0  # without deviation the mean stays
        assert found == pytest.approx(expected)


def test_an_external_inflow_comes_about_as_given_through_the_lags():
    stages = _stages()
    rows = [(h, t, 50.0, 10.0 * (h == 0 or t != 2)) for h in range(2) for t in range(-2, 4)]
    lags = coefficients(*[(h, t, lag, 0.4 / lag, 0.9) for h in range(2) for t in range(4) for lag in (1, 2)])
    model = InflowModel.build(stages, 2, statistics(*rows), lags)
    transition = LagTransition.build(stages, 2)
    start = transition.initial(np.array([[40.0, 60.0], [30.0, 70.0]]))
    values = np.random.default_rng(2).uniform(0.0, 90.0, size=(4, 5, 2))
    external = ExternalScenarios.of(
        _given(values), "external_inflow_scenarios", stages, 2, inflow_residuals(model, transition, start)
    )
    eta = _sampler(schemes={"inflow": "external"}, external={"inflow": external}).sample(1, range(12))
    for i in range(12):
        components = start
        for t in range(4):
            inflow = model.inflow(t, components, eta[i, t, :2])
            given = values[t, external_scenario(1, i, 5)]
            assert inflow[0] == pytest.approx(given[0])
            if t != 2:
                assert inflow[1] == pytest.approx(given[1])
            components = transition.advance(t, components, inflow)


def test_stages_may_have_different_numbers_of_external_scenarios():
    tables = [
        np.arange(3.0)[:, None],
        np.arange(5.0)[:, None],
        np.arange(3.0)[:, None],
        np.arange(2.0)[:, None],
    ]
    values = ExternalScenarios(tables, normal_residuals(np.zeros((4, 1)), np.ones((4, 1)))).sample(
        1, range(20)
    )
    assert (values[:, 0] == values[:, 2]).all()
    assert [set(values[:, t, 0]) <= set(range(len(tables[t]))) for t in range(4)] == [True] * 4


def test_no_stage_keeps_more_openings_than_there_are_external_inflows():
    tables = [np.zeros((n, 2)) for n in (3, 9, 6, 1)]
    external = ExternalScenarios(tables, normal_residuals(np.zeros(2), np.ones(2)))
    assert [s.n_openings for s in clamp_openings(_stages(), external)] == [3, 6, 6, 1]


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
            given, "external_load_scenarios", _stages(), 2, normal_residuals(np.ones(2), np.ones(2))
        )


def test_a_load_is_never_negative():
    assert load_mw(100.0, 20.0, np.array([1.0, -1.0, -6.0])).tolist() == [120.0, 80.0, 0.0]
    assert load_mw([10.0, 20.0], [1.0, 2.0], np.ones((3, 2))).tolist() == [[11.0, 22.0]] * 3


def test_an_availability_stays_within_the_installed_power():
    assert availability_mw(0.5, 0.25, np.array([0.0, 1.0, 4.0, -4.0]), 200.0).tolist() == [
        100.0,
        150.0,
        200.0,
        0.0,
    ]


def test_entities_without_noise_have_no_position():
    entities = NoiseEntities.of(
        2, np.array([[0.0, 0.0], [0.0, 3.0], [1.0, 1.0]]), np.array([True, False, True])
    )
    assert entities == NoiseEntities(2, (1, 2), (0, 2))
    assert [entities.position("load", bus) for bus in range(3)] == [-1, 2, 3]
    assert [entities.position("ncs", source) for source in range(3)] == [4, -1, 5]
    assert [entities.columns(name) for name in ("inflow", "load", "ncs")] == [
        slice(0, 2),
        slice(2, 4),
        slice(4, 6),
    ]
