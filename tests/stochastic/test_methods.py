"""Points that are spread: Latin hypercubes, Sobol and Halton points, in the tree and in fresh trajectories."""

from __future__ import annotations

import dataclasses
import hashlib
from importlib.resources import files

import numpy as np
import pytest

import noise_recipe as recipe
from cobre._native import noise
from cobre.core.config import ScenarioSource
from cobre.errors import ValidationError
from cobre.stochastic import ForwardSampler, NoiseEntities, generate_tree
from cobre.stochastic.methods import POINT_METHODS
from cobre.stochastic.seeds import stage_seed
from cobre.stochastic.sobol import MAX_SOBOL_DIMENSIONS, sobol_directions
from noise_recipe import Pcg64, hash_of, months

SPREAD = [method for method in POINT_METHODS if method != "saa"]


def _tree(method, n, columns, seed=42):
    return generate_tree(seed, months(1, n_openings=n, sampling_method=method), columns).stage(0)


def _fresh(method, n, columns, seed=99, iteration=0, stages=2, scenarios=None):
    horizon = months(stages, sampling_method=method)
    entities = NoiseEntities(columns)
    tree = generate_tree(1, horizon, columns)
    source = ScenarioSource(inflow="out_of_sample", seed=seed)
    return ForwardSampler(tree, 1, horizon, entities, source, n).sample(
        iteration, range(n) if scenarios is None else scenarios
    )


def _probabilities(normal):
    """Where the normal numbers lie between 0 and 1; the error of the quantile is far below a stratum."""
    from statistics import NormalDist

    return np.vectorize(NormalDist().cdf)(normal)


def test_fresh_points_of_every_method_have_the_pinned_values():
    sobol, lhs = _fresh("qmc_sobol", 4, 2), _fresh("lhs", 4, 2)
    assert sobol[:2, 0].tolist() == [
        [-0.08072544273618718, 0.3421697038756186],
        [1.84981860573419, -1.1081968398202018],
    ]
    assert sobol[0, 1].tolist() == [-0.6527823480567722, 0.004955670217361959]
    assert lhs[:2, 0].tolist() == [
        [-1.072385873667138, -0.15712409684205558],
        [0.0877112404906449, 0.7708454383294471],
    ]
    assert lhs[0, 1].tolist() == [0.15708651418318786, -1.9498574458658258]


def test_trees_of_every_method_have_the_pinned_values():
    assert _tree("qmc_sobol", 1, 3).tolist() == [
        [-1.086614282532243, 0.41642019030961397, 0.1312993764019891]
    ]
    assert _tree("lhs", 4, 2).tolist() == [
        [-1.6083788576758822, -0.4300010760962596],
        [1.0962837841796402, 0.4946650184141141],
        [-0.2838587541143168, 0.8123511671465387],
        [0.6241585574593572, -1.250293287496063],
    ]
    expected = [[0.8125, 13 / 18, 0.38], [0.3125, 1 / 18, 0.98]]
    assert _tree("qmc_halton", 6, 3)[:2].tolist() == [[recipe.moro(p) for p in row] for row in expected]


def test_the_scrambles_of_a_tree_have_the_pinned_numbers():
    """The second implementation, which the trees are compared with below, draws them from the stage's seed."""
    factors = recipe.sobol_factors(Pcg64(stage_seed(42, 0)), 3)
    assert factors == [(1077127829, 595298166), (2638771279, 2840900626), (2093411105, 2371813045)]
    generator = Pcg64(stage_seed(42, 0))
    permutations = [
        [recipe.shuffled(base, generator) for _ in range(n)] for base, n in ((2, 3), (3, 2), (5, 2))
    ]
    assert permutations == [
        [[1, 0], [1, 0], [0, 1]],
        [[2, 0, 1], [0, 2, 1]],
        [[1, 4, 2, 0, 3], [4, 2, 0, 1, 3]],
    ]


def test_sobol_points_without_scrambling_are_the_known_ones():
    known = {
        0: [0, 0.5, 0.75, 0.25, 0.375, 0.875, 0.625, 0.125],
        1: [0, 0.5, 0.25, 0.75, 0.375, 0.875, 0.125, 0.625],
    }
    for dimension, expected in known.items():
        v, x, points = sobol_directions(2)[dimension].tolist(), 0, [0.0]
        for i in range(1, 8):
            x ^= v[(i & -i).bit_length() - 1]
            points.append(x / 2**32)
        assert points == expected


def test_the_table_of_direction_numbers_is_complete_and_unchanged():
    table = (files("cobre.stochastic") / "sobol_directions.bin").read_bytes()
    assert (
        hashlib.sha256(table).hexdigest()
        == "02290638a8a60ac0a0fd05f34f01bf8f251e851f92c48cec63d26a1810d109a3"
    )
    everything = sobol_directions(MAX_SOBOL_DIMENSIONS)
    assert [everything[d].tolist() for d in range(8)] == [recipe.directions(d) for d in range(8)]
    ends = [int(v[j]) >> (31 - j) & 1 for v in everything[::100] for j in range(32)]
    assert all(ends), "number j of every dimension has bit j, so that each dimension is stratified"


def test_a_polynomial_has_the_degree_that_its_place_in_the_table_says():
    """There are phi(2^s - 1) / s primitive polynomials of degree s; dimensions use them in order."""
    counts = [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776]
    assert 1 + sum(counts) == MAX_SOBOL_DIMENSIONS


def test_more_dimensions_than_the_table_has_are_refused():
    with pytest.raises(ValidationError, match="at most 21201 dimensions, and the study needs 21202"):
        generate_tree(1, months(1, sampling_method="qmc_sobol"), 21_202)
    with pytest.raises(IndexError, match="not so many dimensions"):
        noise.sobol_directions(b"\x41\x0c", np.empty((9, 32), dtype=np.uint32))


def test_the_primes_of_halton_points_are_primes():
    primes = np.empty(100, dtype=np.uint32)
    noise.first_primes(primes)
    assert primes[:6].tolist() == [2, 3, 5, 7, 11, 13]
    assert primes[99] == 541


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_trees_of_points_agree_with_a_second_implementation(n):
    columns = 8
    generator = Pcg64(hash_of((42, 8), (0, 4)))
    factors = recipe.sobol_factors(generator, columns)
    gray = [i ^ (i >> 1) for i in range(n)]
    expected = [
        [recipe.moro(recipe.sobol_probability(factors[d], d, i)) for d in range(columns)] for i in gray
    ]
    assert _tree("qmc_sobol", n, columns).tolist() == expected
    generator = Pcg64(hash_of((42, 8), (0, 4)))
    scrambles = [recipe.matrix_scramble(generator) for _ in range(columns)]
    expected = [
        [recipe.moro(recipe.matrix_probability(scrambles[d], d, i)) for d in range(columns)] for i in gray
    ]
    assert _tree("qmc_sobol_lms", n, columns).tolist() == expected
    expected = recipe.halton_probabilities(Pcg64(hash_of((42, 8), (0, 4))), n, columns)
    assert _tree("qmc_halton", n, columns).tolist() == [[recipe.moro(p) for p in row] for row in expected]


def test_fresh_points_agree_with_a_second_implementation():
    n, columns, group = 11, 5, 1

    def common():
        return Pcg64(hash_of((99, 8), (3, 4), (group, 4)))

    factors = recipe.sobol_factors(common(), columns)
    expected = [
        [recipe.moro(recipe.sobol_probability(factors[d], d, i)) for d in range(columns)] for i in range(n)
    ]
    assert _fresh("qmc_sobol", n, columns, iteration=3)[:, group].tolist() == expected
    generator = common()
    scrambles = [recipe.matrix_scramble(generator) for _ in range(columns)]
    expected = [
        [recipe.moro(recipe.matrix_probability(scrambles[d], d, i)) for d in range(columns)] for i in range(n)
    ]
    assert _fresh("qmc_sobol_lms", n, columns, iteration=3)[:, group].tolist() == expected
    expected = [[recipe.moro(p) for p in row] for row in recipe.halton_probabilities(common(), n, columns)]
    assert _fresh("qmc_halton", n, columns, iteration=3)[:, group].tolist() == expected
    generator = common()
    strata = [recipe.shuffled(n, generator) for _ in range(columns)]
    expected = []
    for i in range(n):
        own = Pcg64(hash_of((99, 8), (3, 4), (i, 4), (group, 4)))
        expected.append([recipe.moro((strata[d][i] + own.uniform52()) / n) for d in range(columns)])
    assert _fresh("lhs", n, columns, iteration=3)[:, group].tolist() == expected


@pytest.mark.parametrize("method", POINT_METHODS)
def test_any_split_of_fresh_scenarios_gives_the_same_bits(method):
    whole = _fresh(method, 13, 6)
    for cut in (0, 1, 5, 12):
        parts = [_fresh(method, 13, 6, scenarios=part) for part in (range(cut), range(cut, 13))]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize("method", SPREAD)
@pytest.mark.parametrize("draw", [_tree, _fresh], ids=["tree", "fresh"])
def test_spread_points_meet_every_stratum_of_every_entity(method, draw):
    n = 128
    points = draw(method, n, 9)
    values = _probabilities(points if points.ndim == 2 else points[:, 0])
    base = {"qmc_halton": 2}.get(method)
    columns = values if base is None else values[:, :1]  # n is a power of the first Halton base only
    counts = np.sort(np.floor(columns * n).astype(int), axis=0)
    assert (counts == np.arange(n)[:, None]).all()


def test_the_matrix_scramble_keeps_the_strata_of_two_entities_together_and_multiplying_does_not():
    """64 Sobol points of dimensions 1 and 2 lie one in each box of area 1/64 of every shape."""

    def boxes(values):
        return [len({(int(u * 2**a), int(v * 2 ** (6 - a))) for u, v in values}) for a in range(7)]

    assert boxes(_probabilities(_tree("qmc_sobol_lms", 64, 2))) == [64] * 7
    assert min(boxes(_probabilities(_tree("qmc_sobol", 64, 2)))) < 64


@pytest.mark.parametrize("n", [1, 2, 6, 100])
@pytest.mark.parametrize("draw", [_tree, _fresh], ids=["tree", "fresh"])
def test_no_two_halton_points_share_a_coordinate(n, draw):
    points = draw("qmc_halton", n, 25)
    values = points if points.ndim == 2 else points[:, 0]
    assert all(len(set(column)) == n for column in values.T.tolist())
    assert np.abs(values).max() < 4.0


@pytest.mark.parametrize("method", SPREAD)
def test_fresh_points_differ_between_iterations_and_groups(method):
    first, second = _fresh(method, 8, 3), _fresh(method, 8, 3, iteration=1)
    assert first[:, 0].tolist() != first[:, 1].tolist()
    assert first[:, 0].tolist() != second[:, 0].tolist()


def test_means_of_spread_points_are_nearer_to_zero_than_those_of_independent_draws():
    error = {method: np.abs(_tree(method, 256, 20).mean(axis=0)).mean() for method in POINT_METHODS}
    assert all(error[method] < 0.4 * error["saa"] for method in SPREAD), error


def test_stages_may_have_different_methods():
    stages = [
        dataclasses.replace(s, sampling_method=m)
        for s, m in zip(months(2), ["lhs", "qmc_sobol"], strict=True)
    ]
    tree, source = generate_tree(1, stages, 2), ScenarioSource(inflow="out_of_sample", seed=99)
    mixed = ForwardSampler(tree, 1, stages, NoiseEntities(2), source, 4).sample(0, range(4))
    assert mixed[:, 0].tolist() == _fresh("lhs", 4, 2)[:, 0].tolist()
    assert mixed[:, 1].tolist() == _fresh("qmc_sobol", 4, 2)[:, 1].tolist()
