"""The noise that keeps every season's deviation, and models that do not settle."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.stochastic.fitting.closure import close, effective_coefficients
from cobre.stochastic.fitting.equations import classical_solutions
from cobre.stochastic.fitting.reductions import coefficients_of
from cobre.stochastic.fitting.stationarity import spectral_radius, stationarity_problem


def test_a_single_season_with_one_lag():
    assert close(np.array([[[0.5]]])).ratio[0, 0] == pytest.approx(0.75**0.5, rel=1e-15)


def test_the_closure_differs_from_the_sample_where_an_order_reaches_past_its_neighbour():
    rho = np.ones((1, 4, 4))
    rho[0, :, 1:] = [(0.42, 0.21, 0.08), (0.35, 0.17, 0.06), (0.30, 0.12, 0.03), (0.38, 0.19, 0.07)]
    solutions, orders = classical_solutions(rho), np.array([[3, 1, 2, 1]])
    phi = coefficients_of(solutions, orders)
    assert phi[0, 0].tolist() == pytest.approx(
        [0.3989156595326208, 0.06280246370435548, -0.014634714422504587], rel=1e-13
    )
    assert phi[0, 2, :2].tolist() == pytest.approx([0.294017094017094, 0.017094017094017092], rel=1e-13)
    sample = [float(solutions.variance[0, s, k - 1]) ** 0.5 for s, k in enumerate(orders[0])]
    others = [0.9367496997597597, 0.9538047964565861, 0.9249864863877743]
    assert sample == pytest.approx([0.905780151456293, *others], rel=1e-13)
    assert close(phi).ratio[0].tolist() == pytest.approx([0.905290176808124, *others], rel=1e-13)


def test_the_noise_of_january_and_february_of_d26_follows_from_their_coefficients():
    """Of a lag order of 1 in January, whatever December has, and of 2 in February."""
    for december in (0.3, 0.9):
        phi = np.array([[(0.845834184594447, 0.0), (0.607932535373905, 0.353965143069949), (december, 0.0)]])
        found = close(phi).ratio[0, :2].tolist()
        assert found == pytest.approx([0.533445903697317, 0.37563518510977], rel=1e-13)


def test_a_season_without_lags_is_all_noise():
    phi = np.array([[[0.5, 0.1], [0.0, 0.0], [0.4, 0.0]]])
    found = close(phi)
    assert found.ratio[0, 1] == 1.0
    assert not found.rho[0, 1, 1:].any()


def test_the_annual_term_counts_in_the_closure():
    phi = np.array([[[0.3], [0.0], [0.2], [0.0]]])
    std = np.array([[20.0, 18.0, 22.0, 19.0]])
    psi, annual_std = np.array([[0.4, 0.0, 0.0, 0.0]]), np.array([[15.0, 0.0, 0.0, 0.0]])
    found = close(effective_coefficients(phi, psi, std, annual_std)).ratio[0].tolist()
    assert found == pytest.approx([0.9241792667405879, 1.0, 0.9797958971132712, 1.0], rel=1e-13)


def test_the_twelfth_lag_carries_a_twelfth_of_the_annual_term():
    effective = effective_coefficients(
        np.zeros((1, 1, 1)), np.array([[0.1]]), np.array([[200.0]]), np.array([[250.0]])
    )
    assert effective[0, 0, 11] == pytest.approx(0.08 / 12, rel=1e-14)


def test_without_an_annual_term_the_coefficients_stay_as_they_are():
    phi = np.array([[[0.3]]])
    assert effective_coefficients(phi, np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1))) is phi


def test_hydros_do_not_disturb_each_other():
    phi = np.random.default_rng(3).uniform(-0.2, 0.3, size=(9, 5, 4))
    phi[::3, :, 2:] = 0.0
    together = close(phi)
    for h in range(len(phi)):
        alone = close(phi[h : h + 1])
        assert np.array_equal(alone.variance[0], together.variance[h])


def test_the_spectral_radius_is_the_largest_eigenvalue_of_a_year():
    phi = np.random.default_rng(0).normal(size=(6, 5, 4)) * 0.3
    for h, found in enumerate(spectral_radius(phi)):
        year = np.eye(4)
        for season in range(5):
            companion = np.eye(4, k=-1)
            companion[0] = phi[h, season]
            year = companion @ year
        assert found == pytest.approx(float(np.abs(np.linalg.eigvals(year)).max()), rel=1e-9)


def problem(phi):
    phi = np.array(phi, dtype=float)
    return stationarity_problem(close(phi), spectral_radius(phi), 0)


@pytest.mark.parametrize(
    ("phi", "word"),
    [
        ([[[1.2]]], "correlation of 1.2"),
        ([[[1.0]]], "no variance"),
        ([[[0.0, 1.0]]], "not determined"),
        ([[[2.0, -0.5]]], "correlation"),
    ],
)
def test_a_model_that_does_not_settle_is_named(phi, word):
    assert word in problem(phi)


def test_a_model_with_a_long_memory_is_accepted():
    """A radius of 0.99 is stationary, though a bound by norms of powers would refuse it."""
    assert problem([[[0.99]]]) is None
    assert problem([[[0.6, 0.0], [0.3, 0.2]]]) is None


def test_correlations_of_lags_beyond_the_order_follow_from_the_shorter_ones():
    """A year of one lag each: ρ(k) is the product of the coefficients on the way back."""
    phi = np.zeros((2, 4, 6))
    phi[0, :, 0] = (0.5, 0.6, 0.7, 0.8)
    phi[1, :, 1] = 0.4
    rho = close(phi).rho
    assert rho[0, 3, 1:].tolist() == pytest.approx([0.8, 0.56, 0.336, 0.168, 0.1344, 0.09408], rel=1e-13)
    assert rho[1, 2, 1:].tolist() == pytest.approx([0.0, 0.4, 0.0, 0.16, 0.0, 0.064], rel=1e-13)
    wide = np.concatenate([phi, np.zeros((2, 4, 3))], axis=2)
    assert close(wide).rho[:, :, :7].tobytes() == rho.tobytes()
