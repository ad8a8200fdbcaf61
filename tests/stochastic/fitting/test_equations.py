"""Periodic correlations and the Yule-Walker equations, classical and with an annual mean."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.stochastic.fitting.autocorrelation import annual_means, correlations
from cobre.stochastic.fitting.equations import (
    annual_solutions,
    bordered_system,
    classical_solutions,
    conditional_blocks,
    periodic_correlations,
)
from inflow_records import annual, centred

CLOSE = {"rel": 1e-13, "abs": 1e-15}


def test_lag_one_of_a_single_season_pairs_consecutive_years():
    assert periodic_correlations(centred([(1, 3, 5, 7, 9)]), 1)[0, 0].tolist() == pytest.approx(
        [1.0, 0.5], **CLOSE
    )


@pytest.mark.parametrize(("years", "expected"), [((2001, 2000), (0.4, 7 / 15)), ((2000, 2000), (1 / 3, 0.4))])
def test_seasons_are_paired_by_the_years_in_which_they_begin(years, expected):
    found = periodic_correlations(centred([(1, 2, 4, 3), (5, 7, 6, 8)], years), 1)
    assert found[0, :, 1].tolist() == pytest.approx(expected, **CLOSE)


def test_a_lag_longer_than_the_year_goes_back_two_years():
    z = centred([(1, 2, 4, 3, 5), (6, 8, 7, 9, 5)])
    assert periodic_correlations(z, 3)[0, :, 3].tolist() == pytest.approx([-1 / 6, 0.0], **CLOSE)
    a = annual([(2, 1, 3, 5, 4), ()])
    assert correlations(a.series, z.back(3), per_pair=False)[0, 0] == pytest.approx(0.2, **CLOSE)


def test_a_missing_year_leaves_the_other_pairs_as_they_are():
    whole = centred([(1, 2, 4, 3, 5), (6, 8, 7, 9, 5)])
    gap = centred([(1, np.nan, 4, 3, 5), (6, 8, 7, 9, 5)])
    first, second = np.array([1, 4, 3, 5.0]), np.array([6, 7, 9, 5.0])
    expected = np.mean((first - first.mean()) * (second - np.mean([6, 8, 7, 9, 5]))) / (
        first.std() * np.std([6, 8, 7, 9, 5])
    )
    assert periodic_correlations(gap, 1)[0, 1, 1] == pytest.approx(expected)
    assert periodic_correlations(whole, 1)[0, 1, 1] != pytest.approx(expected)


def test_a_season_without_deviation_correlates_with_nothing():
    assert not periodic_correlations(centred([(1, 2, 3, 4), (5, 5, 5, 5)]), 3)[0, :, 1::2].any()


def test_order_two_solves_the_periodic_equations():
    rho = periodic_correlations(centred([(3, 5, 4, 6, 2), (1, 2, 3, 4, 0)]), 2)
    assert rho[0, 1, 1] == pytest.approx(0.9, **CLOSE)
    assert rho[0, 0, 1:].tolist() == pytest.approx([-0.375, -0.625], **CLOSE)
    found = classical_solutions(rho)
    assert found.phi[0, 0, 2].tolist() == pytest.approx([0.986842105263158, -1.513157894736842], **CLOSE)
    assert found.partial[0, 0].tolist() == pytest.approx([-0.375, -1.513157894736842], **CLOSE)


def test_a_singular_order_ends_the_search():
    rho = np.ones((1, 1, 4))
    found = classical_solutions(rho)
    assert found.partial[0, 0, 0] == 1.0
    assert np.isnan(found.partial[0, 0, 1:]).all()
    assert not found.is_solved[0, 0, 2:].any()


BORDER_Z, BORDER_A = [(1, 3, 2, 5, 4), (2, 1, 4, 3, 6)], [(1.5, 2, 3, 4, 3.5), (1, 3, 2.5, 3.5, 2)]


def test_the_annual_mean_borders_the_equations():
    z, a = centred(BORDER_Z), annual(BORDER_A)
    rho = periodic_correlations(z, 2)
    matrix, right = bordered_system(rho, z, a, 2)
    assert matrix[0, 0, 0, 1] == pytest.approx(0.328797974610715, **CLOSE)
    assert matrix[0, 0, 2].tolist() == pytest.approx([-0.121621621621622, 0.739795442874108, 1.0], rel=1e-13)
    assert right[0, 0].tolist() == pytest.approx(
        [0.369897721437054, 0.0, 0.115079291113750], rel=1e-13, abs=1e-15
    )
    found = annual_solutions(rho, z, a)
    assert found.phi[0, 0, 2].tolist() == pytest.approx([0.773889929208994, -0.903947368421052], rel=1e-13)
    assert found.psi[0, 0, 2] == pytest.approx(0.877937183016727, rel=1e-13)
    assert found.psi[0, 0, 0] == pytest.approx(0.115079291113750, rel=1e-13)


def test_the_conditional_partial_correlation_looks_past_what_lies_between():
    z = centred([(1, 2, -1, 0, -2), (0, 1, -1, 2, -2), (1, 0, 2, -1, -2)])
    a = annual([(), (), (0, 1, 2, -1, -2)])
    rho = periodic_correlations(z, 3)
    matrix, right = bordered_system(rho, z, a, 3)
    given, cross = conditional_blocks(rho, matrix, right, 3)
    assert given[0, 0].ravel().tolist() == pytest.approx([1, 0, 0.9, 0, 1, 0.1, 0.9, 0.1, 1], **CLOSE)
    assert cross[0, 0].ravel().tolist() == pytest.approx([0.5, -0.625, 0.1, 0.3, 0.7, 0.4], **CLOSE)
    assert rho[0, 0, 3] == 0.0
    reduced = np.eye(2) - cross[0, 0] @ np.linalg.inv(given[0, 0]) @ cross[0, 0].T
    product = reduced[0, 0] * reduced[1, 1]
    expected = np.clip(reduced[0, 1] / np.sqrt(product), -1.0, 1.0) if product > 0.0 else 0.0
    assert annual_solutions(rho, z, a).partial[0, 0, 2] == pytest.approx(expected)


def test_annual_means_are_filed_under_their_last_month_and_the_very_last_is_left_out():
    months = np.array([[10.0 * month + 5.0 * year for year in range(4) for month in range(1, 13)]])
    found = annual_means(months, 12)
    expected = [(845 + 5 * m) / 12 for m in range(11)] + [70.0]
    assert found.mean_m3s[0].tolist() == pytest.approx(expected, rel=1e-13)
    assert found.std_m3s[0].tolist() == pytest.approx([(50 / 3) ** 0.5] * 12, rel=1e-13)
    assert found.series.count[0].tolist() == [3] * 12
