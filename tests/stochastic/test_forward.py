from __future__ import annotations

import numpy as np
import pytest

import noise_recipe as recipe
from cobre.core.config import ScenarioSource
from cobre.core.scenarios import Correlation, CorrelationGroup
from cobre.errors import ValidationError
from cobre.stochastic import (
    Correlator,
    ForwardSampler,
    NoiseEntities,
    availability_mw,
    class_seed,
    draw_noise,
    draw_openings,
    generate_tree,
    load_mw,
)
from noise_recipe import months, stage

ENTITIES = NoiseEntities(2, load_buses=(1,), ncs_sources=(0, 2))
IN_SAMPLE = ScenarioSource()
FRESH = ScenarioSource("out_of_sample", "out_of_sample", "out_of_sample", seed=3)


def _stages(n=4, openings=6):
    return months(n, n_openings=openings)


def _sampler(source=IN_SAMPLE, n_scenarios=20_000, **more):
    stages = more.pop("stages", _stages())
    return ForwardSampler(generate_tree(5, stages, 5), 5, stages, ENTITIES, source, n_scenarios, **more)


def _fresh(seed, iteration, scenarios, stages, n_entities):
    """Fresh noise (scenarios, stages, entities) of one class."""
    out = np.empty((len(stages), len(scenarios), n_entities))
    draw_noise(seed, iteration, scenarios, 20_000, stages, slice(0, n_entities), out)
    return out.transpose(1, 0, 2)


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
    drawn = _fresh(9, 4, range(2, 6), stages, 3)
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


@pytest.mark.parametrize("source", [ScenarioSource(), FRESH], ids=["in sample", "out of sample"])
def test_any_split_of_scenarios_gives_the_same_bits(source):
    sampler = _sampler(source, correlator=_correlator())
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


def test_the_pinned_openings_are_met():
    counts = np.full(12, 10, dtype=np.uint32)
    assert draw_openings(42, 1, range(1), counts)[0].tolist() == [3, 9, 9, 2, 0, 8, 2, 6, 3, 5, 3, 0]
    assert draw_openings(42, 1, range(4), counts)[:, 0].tolist() == [3, 4, 2, 9]
    assert draw_openings(42, 0, range(1), counts)[0].tolist() == [4, 6, 9, 7, 8, 2, 1, 4, 3, 1, 3, 7]


def test_openings_that_are_not_equally_likely_are_met_as_often_as_they_are_likely():
    weights = np.array([0.5, 0.125, 0.375])
    drawn = draw_openings(1, 1, range(20_000), np.array([3, 3], dtype=np.uint32), {1: weights})
    plain = draw_openings(1, 1, range(20_000), np.array([3, 3], dtype=np.uint32))
    assert drawn[:, 0].tolist() == plain[:, 0].tolist()
    assert np.bincount(drawn[:, 1]) / 20_000 == pytest.approx(weights, abs=0.01)
    parts = [
        draw_openings(1, 1, part, np.array([3, 3], dtype=np.uint32), {1: weights})
        for part in (range(7), range(7, 20))
    ]
    assert np.concatenate(parts).tolist() == drawn[:20].tolist()


def test_classes_may_have_different_schemes():
    mixed = _sampler(ScenarioSource(load="out_of_sample", seed=3), 20).sample(1, range(6))
    in_sample = _sampler().sample(1, range(6))
    fresh = _fresh(class_seed(3, "load"), 1, range(6), _stages(), 1)
    assert (mixed[..., :2] == in_sample[..., :2]).all()
    assert (mixed[..., 2:3] == fresh).all()
    assert (mixed[..., 3:] == in_sample[..., 3:]).all()


def test_fresh_inflows_do_not_depend_on_the_other_classes():
    mixed = _sampler(FRESH).sample(1, range(6))
    assert (mixed[..., :2] == _fresh(3, 1, range(6), _stages(), 2)).all()


def test_fresh_noise_of_the_classes_is_independent():
    values = _sampler(FRESH).sample(1, range(4000))[:, 0]
    assert np.corrcoef(values.T) == pytest.approx(np.eye(5), abs=0.06)


def test_fresh_noise_is_correlated_like_the_tree():
    sampler = _sampler(ScenarioSource(inflow="out_of_sample", seed=3), correlator=_correlator())
    assert np.corrcoef(sampler.sample(1, range(5000))[:, 2, :2].T)[0, 1] == pytest.approx(0.7, abs=0.03)


def test_in_sample_classes_are_not_correlated_again_beside_fresh_ones():
    tree_noise = _sampler().sample(1, range(6))
    mixed = _sampler(ScenarioSource(load="out_of_sample", seed=3), correlator=_correlator())
    assert (mixed.sample(1, range(6))[..., :2] == tree_noise[..., :2]).all()


def test_the_noise_of_a_stage_is_contiguous_in_memory():
    assert _sampler(FRESH).sample(1, range(6))[:, 2].flags.c_contiguous


def test_a_tree_with_other_entities_gives_its_columns_by_class():
    """A simulation with external loads knows more uncertain loads than the tree of training."""
    stages, there = _stages(), NoiseEntities(2, ncs_sources=(0, 2))
    tree = generate_tree(5, stages, 4)
    source = ScenarioSource(load="out_of_sample", seed=3)
    sampler = ForwardSampler(tree, 5, stages, ENTITIES, source, 6, tree_entities=there)
    openings = draw_openings(5, 1, range(6), tree.layout.n_openings)
    values = sampler.sample(1, range(6))
    for i in range(6):
        row = tree.stage(1)[openings[i, 1]]
        assert values[i, 1, [0, 1, 3, 4]].tolist() == row.tolist()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (ScenarioSource(inflow="historical"), "scenario_source.inflow: historical needs a history"),
        (ScenarioSource(load="historical"), "scenario_source.load: historical is for inflows only"),
        (ScenarioSource(load="out_of_sample"), "scenario_source.load: out_of_sample needs a seed"),
        (ScenarioSource(ncs="external", seed=1), "scenario_source.ncs: external needs scenarios"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused(source, message):
    with pytest.raises(ValidationError, match=message):
        _sampler(source)


def test_scenarios_must_follow_one_another_and_be_among_those_of_the_iteration():
    with pytest.raises(ValueError, match="follow one another"):
        _sampler().sample(1, range(0, 10, 2))
    with pytest.raises(ValueError, match="not all among the 10 scenarios"):
        _sampler(n_scenarios=10).sample(1, range(8, 12))


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
