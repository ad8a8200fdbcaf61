"""The upper hull: planes above every value, each spanned by values, together the concave hull."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cobre.production.hull import upper_hull


def values_of(planes, shape):
    i, j = np.indices(shape)
    return np.array([c + a * i + b * j for c, a, b in planes])


def all_triples(z):
    """The concave hull on the grid by trying every plane through three points."""
    i, j = (axis.ravel().astype(float) for axis in np.indices(z.shape))
    flat, lowest = z.ravel(), np.full(z.size, np.inf)
    scale = np.abs(flat).max()
    for p, q, r in combinations(range(z.size), 3):
        area = (i[q] - i[p]) * (j[r] - j[p]) - (j[q] - j[p]) * (i[r] - i[p])
        if area == 0.0:
            continue
        a = ((flat[q] - flat[p]) * (j[r] - j[p]) - (flat[r] - flat[p]) * (j[q] - j[p])) / area
        b = ((i[q] - i[p]) * (flat[r] - flat[p]) - (i[r] - i[p]) * (flat[q] - flat[p])) / area
        plane = flat[p] + a * (i - i[p]) + b * (j - j[p])
        if np.all(plane >= flat - 1e-9 * scale):
            lowest = np.minimum(lowest, plane)
    return lowest.reshape(z.shape)


def grids():
    chance = np.random.default_rng(14)
    for rows, columns in ((2, 2), (2, 5), (3, 3), (4, 3), (4, 4)):
        yield chance.random((rows, columns))
        yield chance.integers(0, 3, (rows, columns)).astype(float) + 1.0  # many points in one plane
        i, j = np.indices((rows, columns))
        yield np.sqrt(1.0 + i) * np.sqrt(j)  # concave
        yield i * j + 1e-13 * chance.random((rows, columns))  # planes up to rounding
        yield np.minimum(j * (5.0 + i), 7.0)  # capped


@pytest.mark.parametrize("z", list(grids()))
def test_the_planes_are_the_concave_hull(z):
    planes = upper_hull(z)
    above = values_of(planes, z.shape)
    scale = np.abs(z).max()
    assert np.all(above >= z - 1e-9 * scale)
    assert above.min(axis=0) == pytest.approx(all_triples(z), abs=1e-8 * scale)


@pytest.mark.parametrize("z", list(grids()))
def test_every_plane_is_spanned_by_three_values(z):
    for plane in values_of(upper_hull(z), z.shape):
        touched = np.argwhere(np.abs(plane - z) <= 1e-9 * np.abs(z).max())
        assert np.linalg.matrix_rank(touched - touched[0]) == 2


@pytest.mark.parametrize("z", list(grids()))
def test_no_plane_is_there_twice(z):
    planes = values_of(upper_hull(z), z.shape)
    assert all(np.abs(one - other).max() > 1e-10 for one, other in combinations(planes, 2))


def test_values_in_one_plane_give_that_plane():
    i, j = np.indices((6, 9))
    (plane,) = upper_hull(3.0 + 0.25 * i + 0.7 * j)
    assert plane == pytest.approx((3.0, 0.25, 0.7), abs=1e-13)


def test_equal_values_give_one_level_plane():
    assert upper_hull(np.full((5, 5), 7.25)) == [(7.25, 0.0, 0.0)]


def test_the_order_of_the_rows_turned_round_mirrors_the_planes():
    z = np.random.default_rng(3).random((5, 6))
    mirrored = {tuple(np.round((c + 4.0 * a, -a, b), 9)) for c, a, b in upper_hull(z[::-1])}
    assert {tuple(np.round(plane, 9)) for plane in upper_hull(z)} == mirrored


def test_a_large_grid():
    i, j = np.indices((60, 60))
    z = np.sqrt(1.0 + i) * j - 0.001 * j * j
    above = values_of(upper_hull(z), z.shape)
    assert np.all(above >= z - 1e-9 * z.max())
    assert np.all(np.abs(above - z).min(axis=(1, 2)) <= 1e-9 * z.max())
