"""Noise of inflows that is lognormal or drawn from the history."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from cobre.core.horizon import Stage
from cobre.core.scenarios import InflowResiduals
from cobre.stochastic import draw_noise, generate_tree
from cobre.stochastic.residual_noise import Lognormal, ResidualNoise, reach_of_noise

N_HYDROS = 3


def months(n_stages, n_openings, seasons=None):
    starts = [dt.date(2024 + m // 12, m % 12 + 1, 1) for m in range(n_stages + 1)]
    return [
        Stage(t, starts[t], starts[t + 1], (), n_openings, season_id=t if seasons is None else seasons[t])
        for t in range(n_stages)
    ]


def noise_of(kind, stages, vectors=None, mean=100.0, sigma=30.0):
    shape = (len(stages), N_HYDROS)
    return ResidualNoise(
        InflowResiduals(kind, vectors or {}), stages, np.full(shape, mean), np.full(shape, sigma)
    )


@pytest.mark.parametrize("bound", [0.3, 1.0, 4.0, 50.0])
def test_the_lognormal_has_mean_zero_variance_one_and_its_bound(bound):
    shape = Lognormal.of(np.array([bound]))
    expected = np.exp(shape.mean + shape.deviation**2 / 2)
    assert expected - bound == pytest.approx(0.0, abs=1e-12 * bound)
    variance = (np.exp(shape.deviation**2) - 1.0) * expected**2
    assert variance == pytest.approx(1.0, rel=1e-9)
    drawn = shape.apply(np.random.default_rng(0).normal(size=(5000, 1)))
    assert drawn.min() > -bound


def test_the_lognormal_is_skewed_to_the_right_and_keeps_the_order():
    normal = np.sort(np.random.default_rng(3).normal(size=(1001, 1)), axis=0)
    shaped = Lognormal.of(np.array([2.0])).apply(normal)
    assert (np.diff(shaped[:, 0]) > 0.0).all()
    assert np.mean((shaped - shaped.mean()) ** 3) > 0.5


def test_a_bound_that_is_not_positive_or_very_large_leaves_the_noise_normal():
    normal = np.random.default_rng(3).normal(size=(7, 3))
    assert np.array_equal(Lognormal.of(np.array([0.0, -1.0, 1e9])).apply(normal), normal)


def test_lognormal_openings_never_take_more_than_the_mean():
    stages = months(4, 500)
    tree = generate_tree(42, stages, N_HYDROS + 2)
    plain = tree.values.copy().reshape(4, 500, N_HYDROS + 2)
    noise_of("lognormal", stages).shape_tree(tree, 42, range(4))
    shaped = tree.values.reshape(plain.shape)
    assert (100.0 + 30.0 * shaped[:, :, :N_HYDROS]).min() > 0.0
    assert (100.0 + 30.0 * plain[:, :, :N_HYDROS]).min() < 0.0
    assert np.array_equal(shaped[:, :, N_HYDROS:], plain[:, :, N_HYDROS:])


def years(n_years, seed):
    return np.random.default_rng(seed).normal(size=(n_years, N_HYDROS))


def test_a_bootstrap_takes_whole_years_each_once_while_there_are_enough():
    stages = months(2, 20)
    vectors = {0: years(30, 1), 1: years(20, 2)}
    tree = generate_tree(7, stages, N_HYDROS + 1)
    before = tree.values.copy().reshape(2, 20, N_HYDROS + 1)
    noise_of("bootstrap", stages, vectors).shape_tree(tree, 7, range(2))
    for t in range(2):
        rows = tree.stage(t)[:, :N_HYDROS].tolist()
        assert all(row in vectors[t].tolist() for row in rows)
        assert len({tuple(row) for row in rows}) == 20
        assert np.array_equal(tree.stage(t)[:, N_HYDROS:], before[t][:, N_HYDROS:])


def test_a_bootstrap_of_more_openings_than_years_repeats_years():
    stages = months(1, 400)
    vectors = {0: years(30, 1)}
    tree = generate_tree(7, stages, N_HYDROS)
    noise_of("bootstrap", stages, vectors).shape_tree(tree, 7, range(1))
    rows = {tuple(row) for row in tree.stage(0).tolist()}
    assert rows == {tuple(row) for row in vectors[0].tolist()}


@pytest.mark.parametrize("kind", ["lognormal", "lognormal_nonnegative", "bootstrap"])
def test_any_split_of_the_stages_gives_the_same_tree(kind):
    stages = months(6, 9, [0, 0, 1, 1, 1, 2])
    vectors = {t: years(30, stage.season_id) for t, stage in enumerate(stages)}
    shape = noise_of(kind, stages, vectors)
    whole = generate_tree(42, stages, N_HYDROS)
    shape.shape_tree(whole, 42, range(6))
    parts = np.empty(whole.layout.size)
    for block in (range(1), range(1, 4), range(4, 6)):
        tree = generate_tree(42, stages, N_HYDROS, out=parts, block=block)
        shape.shape_tree(tree, 42, block)
    assert parts.tobytes() == whole.values.tobytes()


def test_stages_that_share_their_noise_share_the_year():
    stages = months(3, 9, [0, 0, 1])
    vectors = {0: years(30, 1), 1: years(30, 1), 2: years(30, 1)}
    tree = generate_tree(42, stages, N_HYDROS)
    noise_of("bootstrap", stages, vectors).shape_tree(tree, 42, range(3))
    assert np.array_equal(tree.stage(0), tree.stage(1))
    assert not np.array_equal(tree.stage(0), tree.stage(2))


@pytest.mark.parametrize("kind", ["lognormal", "bootstrap"])
def test_fresh_noise_depends_on_scenario_and_iteration_alone(kind):
    stages = months(5, 1)
    vectors = {t: years(30, t) for t in range(5)}
    shape = noise_of(kind, stages, vectors)

    def drawn(iteration, scenarios):
        by_stage = np.empty((5, len(scenarios), N_HYDROS + 1))
        draw_noise(9, iteration, scenarios, 8, stages, slice(0, N_HYDROS + 1), by_stage)
        values = by_stage.transpose(1, 0, 2)
        shape.shape_fresh(values, 9, iteration, scenarios)
        return values

    together = drawn(1, range(8))
    assert np.array_equal(together[3:], drawn(1, range(3, 8)))
    assert not np.array_equal(together, drawn(2, range(8)))
    if kind == "bootstrap":
        assert all(row in vectors[2].tolist() for row in together[:, 2, :N_HYDROS].tolist())


def test_noise_reaches_down_to_the_lags_where_no_coefficient_is_negative():
    mean, base = np.array([100.0, 100.0, 100.0]), np.array([40.0, -5.0, 40.0])
    psi = np.array([[0.6, 1.1, 0.7], [0.0, 0.0, -0.1]])
    assert reach_of_noise("lognormal", mean, base, psi).tolist() == [100.0, 100.0, 100.0]
    assert reach_of_noise("lognormal_nonnegative", mean, base, psi).tolist() == [40.0, 100.0, 100.0]
    shape = Lognormal.of_model(np.array([40.0]), np.array([25.0]))
    noise = shape.apply(np.random.default_rng(0).normal(size=(5000, 1)))
    assert (40.0 + 25.0 * noise).min() >= 0.0
