"""Similar planes are merged, the plane through the origin never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cobre.production import fit_planes
from cobre.production.reduction import AngleReduction, DistanceReduction, SampleBox, fnv1a, merge_planes
from production.plants import CONCAVE, CONCAVE_GRID

BOX = SampleBox(0.0, 100.0, 0.0, 50.0, 100.0)
PLANES = np.array([
    (8.0, 0.50, 1.00, -0.2),
    (6.0, 0.48, 1.02, 0.0),
    (4.0, 0.10, 2.00, -0.1),
    (0.0, 0.00, 2.01, -0.1),
])  # fmt: skip


def test_planes_at_a_small_angle_become_their_mean():
    merged = merge_planes(PLANES, AngleReduction(2.0), BOX)
    assert merged == pytest.approx(np.array([(7.0, 0.49, 1.01, -0.1), PLANES[2], PLANES[3]]), abs=1e-15)


def test_no_tolerance_merges_nothing():
    twice = np.array([PLANES[0], PLANES[0]])
    assert len(merge_planes(twice, AngleReduction(0.0), BOX)) == 2


def test_a_mean_can_take_in_the_next_plane():
    fan = np.array([(1.0, 0.1 * k, 1.0, 0.0) for k in range(3)])
    merged = merge_planes(fan, AngleReduction(10.0), BOX)
    assert merged == pytest.approx(np.array([(1.0, 0.125, 1.0, 0.0)]), abs=1e-15)


@pytest.mark.parametrize("reduction", [AngleReduction(90.0), DistanceReduction(1e9, 16, 3)])
def test_the_plane_through_the_origin_is_never_merged(reduction):
    merged = merge_planes(PLANES, reduction, BOX)
    assert len(merged) == 2
    assert merged[1].tolist() == PLANES[3].tolist()


def test_planes_at_a_small_distance_become_their_mean():
    near = np.array([(10.0, 0.5, 1.0, 0.0), (11.0, 0.5, 1.0, 0.0)])
    # The distance is 1 MW everywhere: 1 / 100^2 is 0.01 %.
    assert len(merge_planes(near, DistanceReduction(0.0101, 7, 0), BOX)) == 1
    assert len(merge_planes(near, DistanceReduction(0.0099, 7, 0), BOX)) == 2


def test_the_sampled_distance_is_near_the_integral():
    tilted = np.array([(1.0, 0.0, 1.0, 0.0), (1.0, 0.1, 1.0, 0.0)])
    # Mean of (0.1 v)^2 over 0..100 is 100/3; over 100^2 that is 0.3333 %.
    assert len(merge_planes(tilted, DistanceReduction(0.36, 4000, 5), BOX)) == 1
    assert len(merge_planes(tilted, DistanceReduction(0.31, 4000, 5), BOX)) == 2


def test_published_values_of_the_hash():
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8


def test_published_values_of_the_generator():
    from cobre.production.reduction import _SplitMix64

    draw = _SplitMix64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [draw.uniform() for _ in published] == [(value >> 11) * 2.0**-53 for value in published]


def test_the_seed_depends_on_plant_level_and_planes():
    reduction = DistanceReduction(1.0, 9, 3, 312.5)
    others = [
        replace(reduction, hydro_id=4),
        replace(reduction, level_m=313.0),
        replace(reduction, level_m=None),
    ]
    seeds = {each.seed(0, 1) for each in (reduction, *others)} | {reduction.seed(0, 2)}
    assert len(seeds) == 5


def test_a_reduced_fit_reports_the_error_of_the_planes_that_are_left():
    whole = fit_planes(CONCAVE, CONCAVE_GRID)
    reduced = fit_planes(CONCAVE, replace(CONCAVE_GRID, reduction=AngleReduction(0.5)))
    assert 1 < len(reduced.planes) < len(whole.planes)
    assert reduced.relative_deviation > whole.relative_deviation
