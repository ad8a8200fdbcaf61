"""Curves over volume: exact at their points, constant beyond them, with exact means."""

from __future__ import annotations

import pytest

from cobre.production.curve import Curve

SOBRADINHO = Curve((0.0, 2000.0, 10000.0, 24500.0, 34116.0), (386.5, 390.0, 396.0, 400.5, 401.3))


def test_height_is_linear_between_points():
    assert SOBRADINHO.at(1000.0) == 388.25


@pytest.mark.parametrize(("x", "y"), list(zip(SOBRADINHO.xs, SOBRADINHO.ys, strict=True)))
def test_points_are_exact(x, y):
    assert SOBRADINHO.at(x) == y


def test_the_curve_is_constant_beyond_its_points():
    assert (SOBRADINHO.at(-5.0), SOBRADINHO.at(5e4)) == (386.5, 401.3)


def test_the_slope_at_a_point_is_that_of_the_segment_to_its_right():
    assert SOBRADINHO.slope(2000.0) == pytest.approx(6.0 / 8000.0, rel=1e-15)
    assert SOBRADINHO.slope(34116.0) == pytest.approx(0.8 / 9616.0, rel=1e-12)


def test_the_mean_is_the_exact_integral():
    curve = Curve((0.0, 10.0, 30.0), (0.0, 10.0, 20.0))
    # From 5 to 20: trapezoids of 37.5 and 125 over 15.
    assert curve.mean(5.0, 20.0) == pytest.approx((37.5 + 125.0) / 15.0, rel=1e-15)
    # The table ends at 30, so only the part inside counts.
    assert curve.mean(20.0, 90.0) == pytest.approx(17.5, rel=1e-15)


def test_one_point_is_a_constant():
    point = Curve((40.0,), (7.0,))
    assert (point.at(0.0), point.slope(3.0), point.mean(0.0, 100.0)) == (7.0, 0.0, 7.0)
