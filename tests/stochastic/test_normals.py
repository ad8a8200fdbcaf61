from __future__ import annotations

import math
import random
from statistics import NormalDist

import numpy as np
import pytest

import noise_recipe as recipe
from cobre._native import noise

PROBABILITIES = [
    1e-19,
    1e-12,
    1e-6,
    0.001,
    0.02425,
    0.0799999,
    0.08,
    0.0800001,
    0.3,
    0.5,
    0.7,
    0.95,
    1 - 1e-9,
]


def _normals(seed: int, n: int) -> np.ndarray:
    out = np.empty(n)
    noise.Generator(seed).normals(out)
    return out


def test_the_layers_of_the_ziggurat_follow_from_their_formula():
    layers = [noise.ziggurat_layer(i) for i in range(257)]
    assert [edge for edge, _ in layers] == recipe.EDGES
    assert [density for _, density in layers] == recipe.DENSITIES
    with pytest.raises(IndexError, match="257"):
        noise.ziggurat_layer(257)


def test_logarithms_are_correctly_rounded():
    chance = random.Random(1)
    values = [chance.random() for _ in range(3000)] + [(2 * k + 1) / 2**53 for k in range(20)]
    values += [1.0, 2.0, 0.5, 1 - 2**-53, 1 + 2**-52, 5e-324, 2.2e-308, 1.7e308, math.sqrt(0.5), 43.66, 1e-19]
    values += [chance.uniform(0.9, 1.1) for _ in range(2000)]
    values += [math.exp(chance.uniform(-700.0, 700.0)) for _ in range(3000)]
    assert [noise.logarithm(x) for x in values] == [recipe.log(x) for x in values]


def test_exponentials_are_correctly_rounded():
    chance = random.Random(2)
    values = [-chance.uniform(0.0, 8.0) for _ in range(5000)]
    values += [0.0, -0.0, -1e-300, 1.0, -1.0, 600.0, -600.0, math.log(2), -(2**-53)]
    assert [noise.exponential(x) for x in values] == [recipe.exp(x) for x in values]


def test_normal_numbers_agree_bit_by_bit_with_a_second_implementation():
    second = recipe.Pcg64(12345)
    expected = [second.normal() for _ in range(60_000)]
    assert max(map(abs, expected)) > recipe.R, "the tail must have been drawn from"
    assert _normals(12345, 60_000).tolist() == expected


def test_a_million_normal_numbers_look_normal():
    values = _normals(2024, 1_000_000)
    assert abs(values.mean()) < 5e-3
    assert abs(values.var() - 1.0) < 7e-3
    assert abs((values**3).mean()) < 2e-2
    assert abs((values**4).mean() - 3.0) < 5e-2
    for x in (-4.0, -3.654, -2.0, -0.5, 0.0, 1.0, 3.0, 3.7):
        p = NormalDist().cdf(x)
        assert abs((values <= x).mean() - p) < 5 * math.sqrt(p * (1 - p) / len(values))


def test_the_quantile_agrees_with_a_second_implementation():
    for p in PROBABILITIES:
        assert noise.normal_quantile(p) == recipe.moro(p)


def test_the_quantile_has_the_pinned_values():
    pinned = {
        0.001: -3.090232306,
        0.01: -2.326347874,
        0.025: -1.959963985,
        0.05: -1.644853627,
        0.25: -0.674489750,
    }
    for p, expected in pinned.items():
        assert noise.normal_quantile(p) == pytest.approx(expected, abs=1e-8)
    assert noise.normal_quantile(0.001) == -3.090232306325993


def test_the_quantile_inverts_the_distribution():
    for p in PROBABILITIES[1:]:
        assert noise.normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), abs=2e-8)
    assert noise.normal_quantile(0.5) == 0.0


def test_the_far_tail_is_kept_finite():
    assert noise.normal_quantile(1e-20) == -8.21
    assert noise.normal_quantile(5e-324) == -8.21
    assert 7.5 < noise.normal_quantile(1 - 2**-53) < 8.5


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_a_value_that_is_no_probability_has_no_quantile(p):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        noise.normal_quantile(p)


@pytest.mark.parametrize("out", [np.empty(4, dtype=np.float32), np.empty(8)[::2]], ids=["float32", "strided"])
def test_an_array_that_cannot_be_filled_in_place_is_refused(out):
    with pytest.raises(TypeError):
        noise.Generator(1).normals(out)
