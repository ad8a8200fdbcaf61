from __future__ import annotations

import numpy as np
import pytest

from cobre.sddp.truncation import Histories, Truncation, lag_terms, truncations


def one_hydro(psi, noise, low, high):
    return Truncation(
        np.array([[psi]]),
        np.array([True]),
        np.array([[noise]]),
        np.array([low - noise]),
        np.array([high - noise]),
    )


def cost_below(truncation, lag, dual):
    """The affine function of the lag that the corrections make of ``dual * inflow``, minus ``dual * max(0, a)``."""
    lags = np.array([[[lag]]])
    gradient, constant = truncation.corrections(lags, np.array([[[dual]]]))
    psi, noise = truncation.lag_coefficients[0, 0], truncation.noise_m3s[0, 0]
    # The plain cut holds dual * psi * lag as its gradient, and dual * (noise used) as part of its value.
    return lambda x: (
        dual * psi * x
        + gradient[0, 0, 0, 0] * x
        + constant[0, 0]
        + dual * max(noise, -psi * lag)
        - (dual * max(0.0, psi * x + noise))
    )


@pytest.mark.parametrize("dual", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("trial", [0.0, 5.0, 8.0, 20.0])
def test_no_cut_is_above_the_clamped_inflow_anywhere_in_the_tree(dual, trial):
    difference = cost_below(one_hydro(0.5, -4.0, -4.0, 6.0), trial, dual)  # lags from 0 to 20
    assert max(difference(x) for x in np.linspace(0.0, 20.0, 201)) <= 1e-12


def test_the_cut_touches_at_both_ends_where_water_is_worth_money():
    difference = cost_below(one_hydro(0.5, -4.0, -4.0, 6.0), 3.0, -3.0)
    assert difference(0.0) == pytest.approx(0.0)
    assert difference(20.0) == pytest.approx(0.0)


def test_where_water_costs_money_the_cut_touches_at_the_trial_point():
    for trial in (2.0, 15.0):
        assert cost_below(one_hydro(0.5, -4.0, -4.0, 6.0), trial, 3.0)(trial) == pytest.approx(0.0)


@pytest.mark.parametrize("dual", [-3.0, 2.0])
def test_an_opening_that_is_never_clamped_is_not_changed(dual):
    truncation = one_hydro(0.5, 1.0, 1.0, 9.0)
    gradient, constant = truncation.corrections(np.array([[[4.0]]]), np.array([[[dual]]]))
    assert gradient.item() == 0.0
    assert constant.item() == 0.0


@pytest.mark.parametrize("dual", [-3.0, 2.0])
def test_an_opening_that_is_always_clamped_does_not_depend_on_the_past(dual):
    difference = cost_below(one_hydro(0.5, -40.0, -40.0, -30.0), 7.0, dual)
    assert [difference(x) for x in (0.0, 10.0, 20.0)] == pytest.approx([0.0] * 3)


def test_an_inflow_without_noise_is_never_raised():
    truncation = Truncation(
        np.array([[0.5], [0.5]]),
        np.array([True, False]),
        np.zeros((1, 2)),
        np.zeros((1, 2)),
        np.zeros((1, 2)),
    )
    raised = truncation.raised(np.array([[[2.0, 2.0]]]), np.array([[-3.0, -3.0]]))
    assert raised.tolist() == [[-1.0, -3.0]]


def test_ranges_of_inflows_follow_the_tree():
    psi = [np.array([[0.5, -0.5]])] * 3
    noise = [np.array([[-2.0], [4.0]])] * 3

    def shift(stage, lags, inflow):
        return np.concatenate([inflow[None], lags[:-1]])

    random = [np.array([True])] * 3
    first, second, third = truncations(Histories(psi, random, noise, np.array([[2.0], [0.0]]), shift))
    assert (first.lowest_past_m3s.item(), first.highest_past_m3s.item()) == (1.0, 1.0)
    # First inflow from 0 (clamped) to 5, after 2: then from 0.5 * 0 - 0.5 * 2 to 0.5 * 5 - 0.5 * 2.
    assert (second.lowest_past_m3s.item(), second.highest_past_m3s.item()) == (-1.0, 1.5)
    assert (third.lowest_past_m3s.item(), third.highest_past_m3s.item()) == (-2.5, 0.5 * 5.5)


def test_lag_terms_of_no_lags_are_zero():
    assert lag_terms(np.empty((2, 0)), np.empty((3, 0, 2))).tolist() == [[0.0, 0.0]] * 3
