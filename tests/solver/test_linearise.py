"""Cuts from what trial points cost: the bits of a sum in opening order, whatever the other points are."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.solver import linearise


def by_numpy(values, gradients, weights, states):
    """Each sum one term after the other."""
    weights = np.broadcast_to(weights, values.shape)
    slopes = np.add.accumulate(gradients * weights[:, :, np.newaxis], axis=1)[:, -1]
    levels = np.add.accumulate(values * weights, axis=1)[:, -1]
    terms = np.concatenate([levels[:, np.newaxis], slopes * states], axis=1)
    return np.concatenate([np.subtract.accumulate(terms, axis=1)[:, -1:], slopes], axis=1)


def rows_of(values, gradients, weights, states):
    rows = np.full((len(values), 1 + states.shape[1]), np.nan)
    linearise(values, gradients, weights, states, rows)
    return rows


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("k", [1, 2, 10])
@pytest.mark.parametrize("d", [0, 1, 3, 30])
@pytest.mark.parametrize("more", [0, 4])
def test_the_bits_are_those_of_sums_in_opening_order(n, k, d, more):
    rng = np.random.default_rng(17 * n + k + d)
    observed = rng.normal(size=(n * k, d + more)) * 10.0 ** rng.integers(-8, 8, (n * k, d + more))
    gradients = observed.reshape(n, k, d + more)[:, :, :d]
    values, states = rng.normal(size=(n, k)) * 1e6, rng.normal(size=(n, d)) * 1e3
    for weights in (rng.random((n, k)), rng.random((1, k))):
        found = rows_of(values, gradients, weights, states)
        assert found.tobytes() == by_numpy(values, gradients, weights, states).tobytes()
        for point in range(n):
            own = slice(point, point + 1)
            alone = rows_of(
                values[own], gradients[own], weights[own] if len(weights) == n else weights, states[own]
            )
            assert alone.tobytes() == found[own].tobytes()


@pytest.mark.parametrize("place", range(5))
def test_arrays_that_do_not_agree_are_refused(place):
    arrays = [np.ones((3, 4)), np.ones((3, 4, 2)), np.ones((3, 4)), np.ones((3, 2)), np.empty((3, 3))]
    linearise(*arrays)
    arrays[place] = arrays[place][:2]
    with pytest.raises(ValueError, match="must agree"):
        linearise(*arrays)


def test_gradients_with_gaps_are_refused():
    uneven = np.ones((3, 5, 2))[:, :4]
    reversed_openings = np.ones((3, 4, 2))[:, ::-1]
    scattered = np.ones((3, 4, 4))[:, :, ::2]
    for gradients in (uneven, reversed_openings, scattered):
        with pytest.raises(ValueError, match="evenly apart"):
            linearise(np.ones((3, 4)), gradients, np.ones((3, 4)), np.ones((3, 2)), np.empty((3, 3)))
