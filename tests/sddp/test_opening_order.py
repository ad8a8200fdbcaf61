"""The path through the openings of a stage."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.sddp.opening_order import MOST_IMPROVED, opening_order


def length(openings: np.ndarray, order: np.ndarray) -> float:
    spread = openings.max(axis=0) - openings.min(axis=0)
    steps = np.diff(openings[order] / np.where(spread > 0.0, spread, 1.0), axis=0)
    return float(np.sqrt((steps**2).sum(axis=1)).sum())


@pytest.mark.parametrize("n", [1, 2, 3, 10, MOST_IMPROVED, MOST_IMPROVED + 1, 200])
def test_every_opening_is_on_the_path_once(n):
    openings = np.random.default_rng(n).normal(size=(n, 4))
    order = opening_order(openings)
    assert order.dtype == np.int32
    assert sorted(order.tolist()) == list(range(n))
    assert opening_order(openings.copy()).tobytes() == order.tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_the_path_is_much_shorter_than_the_order_of_the_numbers(seed):
    openings = np.random.default_rng(seed).lognormal(size=(20, 4)) * [1.0, 100.0, 1e4, 1e-3]
    assert length(openings, opening_order(openings)) < 0.7 * length(openings, np.arange(20))


def test_openings_on_a_line_are_met_in_turn():
    values = np.array([3.0, 0.0, 4.0, 1.0, 2.0])
    order = opening_order(values[:, np.newaxis])
    assert values[order].tolist() in ([2.0, 1.0, 0.0, 3.0, 4.0], [2.0, 3.0, 4.0, 1.0, 0.0])


def test_equal_openings_keep_their_order():
    assert opening_order(np.ones((5, 3))).tolist() == [0, 1, 2, 3, 4]


def test_a_value_that_never_changes_does_not_count():
    openings = np.random.default_rng(0).normal(size=(8, 2))
    wide = np.concatenate([openings, np.full((8, 1), 7.0)], axis=1)
    assert opening_order(wide).tobytes() == opening_order(openings).tobytes()
