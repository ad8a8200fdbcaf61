"""Mean, deviation and kind of a season's observations."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.stochastic.fitting.statistics import SeasonKind, classify, season_statistics
from inflow_records import grid


@pytest.mark.parametrize(
    ("values", "mean", "std"), [((10, 20, 30, 40, 50), 30.0, 200.0**0.5), ((10, 20), 15.0, 5.0)]
)
def test_the_deviation_divides_by_the_number_of_observations(values, mean, std):
    found = season_statistics(grid([values]))
    assert found.mean_m3s[0, 0] == mean
    assert found.std_m3s[0, 0] == std
    assert found.count[0, 0] == len(values)


@pytest.mark.parametrize(
    ("values", "kind", "value"),
    [
        ([1100.0] * 30, SeasonKind.CONSTANT, 1100.0),
        ([], SeasonKind.CONSTANT, 0.0),
        ([-1.0, -2.0, -3.0, *range(10, 27)], SeasonKind.MANY_NEGATIVE, None),
        ([-1.0, -2.0, *range(10, 28)], SeasonKind.ORDINARY, None),
        ([13900.0] * 12 + list(range(8)), SeasonKind.SATURATED, 13900.0),
        ([50.0] * 9 + list(range(11)), SeasonKind.ORDINARY, None),
        ([0.0] * 11 + list(range(1, 10)), SeasonKind.SATURATED, 0.0),
        ([0.5, 1.4, 1.2, 7.0, 9.0], SeasonKind.SATURATED, 1.0),
        ([-0.5, -1.4, -1.2], SeasonKind.MANY_NEGATIVE, None),
    ],
)
def test_series_are_constant_often_negative_saturated_or_ordinary(values, kind, value):
    found = classify(np.array(values, dtype=float))
    assert found[0] == kind
    if value is not None:
        assert found[1] == value


def test_a_constant_and_a_saturated_season_have_no_deviation():
    found = season_statistics(grid([[7.0, 7.0, 7.0], [5.2, 4.8, 90.0], [1.0, 2.0, 6.0]]))
    assert found.mean_m3s.tolist() == [[7.0, 5.0, 3.0]]
    assert found.std_m3s[0, :2].tolist() == [0.0, 0.0]
    assert found.std_m3s[0, 2] > 0.0


def test_missing_years_do_not_count():
    values = grid([[10.0, np.nan, 20.0]])
    found = season_statistics(values)
    assert (found.mean_m3s[0, 0], found.std_m3s[0, 0], found.count[0, 0]) == (15.0, 5.0, 2)
