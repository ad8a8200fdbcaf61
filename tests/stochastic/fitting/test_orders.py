"""Which order a season gets, and when it is lowered again."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.stochastic.fitting.equations import classical_solutions
from cobre.stochastic.fitting.orders import information_orders, significant_orders
from cobre.stochastic.fitting.reductions import coefficients_of, contributions, reduce_orders


def chosen(partial, count, **options):
    return int(significant_orders(np.array([[partial]]), np.array([[count]]), **options)[0, 0, -1])


@pytest.mark.parametrize(
    ("partial", "count", "order"),
    [
        ((0.5, 0.1, 0.3), 100, 3),
        ((-0.5, 0.1), 100, 1),
        ((0.05, 0.03, 0.1), 100, 0),
        ((0.05, 0.03, 0.02, 0.01), 10_000, 3),
        ((0.5, 0.1, 0.3), 0, 0),
        ((0.9, np.nan, np.nan), 100, 1),
    ],
)
def test_the_largest_significant_lag_is_the_order(partial, count, order):
    assert chosen(partial, count) == order


def test_a_value_exactly_at_the_bound_is_not_significant():
    assert chosen((0.196,), 100) == 0
    assert chosen((np.nextafter(0.196, 1.0),), 100) == 1


@pytest.mark.parametrize(("partial", "order"), [((0.05, 0.03), 1), ((0.0, 0.5), 0), ((0.37, 0.0, 0.0), 1)])
def test_with_an_annual_term_the_order_is_at_least_one_unless_lag_one_is_zero(partial, order):
    assert chosen(partial, 100, at_least_one=True) == order


def test_two_observations_give_no_lags():
    assert chosen((1.0, 5.0), 2) == 0


@pytest.mark.parametrize(
    ("criterion", "variance", "count", "order"),
    [
        ("aic", (0.99,), 10, 0),
        ("aic", (0.3,), 100, 1),
        ("aic", (0.3, 0.24561922592339452), 10, 1),
        ("aic", (0.3, 0.2), 10, 2),
        ("bic", (0.3, 0.2), 10, 2),
        ("aic", (0.9, 0.88), 200, 2),
        ("bic", (0.9, 0.88), 200, 1),
        ("aic", (-0.1, 0.5), 100, 2),
    ],
)
def test_information_criteria_choose_the_smaller_order_on_ties(criterion, variance, count, order):
    found = information_orders(np.array([[variance]]), np.array([[count]]), criterion)
    assert int(found[0, 0, -1]) == order


def test_a_ceiling_limits_the_choice():
    assert significant_orders(np.array([[[0.5, 0.1, 0.3]]]), np.array([[100]]))[0, 0].tolist() == [0, 1, 1, 3]
    assert information_orders(np.array([[[0.5, 0.3, 0.1]]]), np.array([[100]]), "bic")[0, 0].tolist() == [
        0,
        1,
        2,
        3,
    ]


def of_seasons(*seasons):
    n_lags = max(map(len, seasons))
    phi = np.zeros((1, len(seasons), n_lags))
    for season, values in enumerate(seasons):
        phi[0, season, : len(values)] = values
    return phi, np.array([[len(values) for values in seasons]])


@pytest.mark.parametrize(
    ("seasons", "std", "expected"),
    [
        ([(0.4, 0.2)], [1.0], (0.4, 0.36)),
        ([(0.4, 0.2), (0.3,)], [30.0, 25.0], (0.48, 0.32)),
        ([(0.3, -0.8)], [1.0], (0.3, -0.71)),
        ([(0.5, 0.2, 0.1)], [1.0], (0.5, 0.45, 0.425)),
    ],
)
def test_contributions_chain_through_the_seasons_between(seasons, std, expected):
    found = contributions(*of_seasons(*seasons), np.array([std]))
    assert found[0, 0].tolist() == pytest.approx(expected, rel=1e-13)


def test_the_twelfth_contribution_of_a_long_memory():
    found = contributions(*of_seasons((0.5, *[0.05] * 11)), np.ones((1, 1)))
    assert found[0, 0, 11] == pytest.approx(0.340454390625, rel=1e-13)


def solutions_of(*phi_of_order):
    """A single season whose order k has these coefficients; every order is significant."""
    n_lags = len(phi_of_order)
    solutions = classical_solutions(np.ones((1, 1, n_lags + 1)))
    for k, phi in enumerate(phi_of_order, 1):
        solutions.phi[0, 0, k] = 0.0
        solutions.phi[0, 0, k, :k] = phi
    return solutions, np.arange(n_lags + 1).reshape(1, 1, -1)


def reduced(solutions, selected, magnitude=None):
    return reduce_orders(solutions, selected, np.ones((1, 1)), magnitude)


def test_a_negative_first_coefficient_clears_the_season_and_a_zero_does_not():
    orders, events = reduced(*solutions_of((-0.001,)))
    assert orders[0, 0] == 0
    assert [event.reason for event in events] == ["phi1_negative"]
    orders, events = reduced(*solutions_of((0.0,), (0.0, 0.3)))
    assert orders[0, 0] == 2
    assert not events


def test_a_coefficient_that_is_too_large_clears_the_season():
    orders, events = reduced(*solutions_of((0.5,), (2.5, 0.1)), 2.0)
    assert orders[0, 0] == 0
    assert [event.reason for event in events] == ["magnitude_bound"]


def test_a_negative_contribution_lowers_the_order_until_none_is_left():
    solutions, selected = solutions_of((0.4,), (0.3, -0.8), (0.3, 0.2, -0.9))
    orders, events = reduced(solutions, selected)
    assert orders[0, 0] == 1
    assert [(event.original_order, event.reduced_order) for event in events] == [(3, 2), (2, 1)]
    assert events[1].contributions == pytest.approx((0.3, -0.71))
    assert coefficients_of(solutions, orders)[0, 0].tolist() == [0.4, 0.0, 0.0]


def test_a_refit_with_a_negative_first_coefficient_ends_at_order_zero():
    orders, _ = reduced(*solutions_of((-0.4,), (0.3, -0.8)))
    assert orders[0, 0] == 0


def test_seasons_are_checked_again_after_another_one_was_lowered():
    """Season 0 has no negative contribution until season 1 loses its lags."""
    solutions = classical_solutions(np.ones((1, 2, 3)))
    solutions.phi[:] = 0.0
    solutions.phi[0, 0, 1, 0], solutions.phi[0, 0, 2] = 0.5, (0.5, -0.2)
    solutions.phi[0, 1, 1, 0], solutions.phi[0, 1, 2] = 0.0, (0.5, -0.3)
    selected = np.tile(np.arange(3), (1, 2, 1))
    orders, events = reduce_orders(solutions, selected, np.ones((1, 2)), None)
    assert orders.tolist() == [[1, 1]]
    assert [event.season for event in events] == [1, 0]
