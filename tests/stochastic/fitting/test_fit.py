"""A whole fit: known processes come back, whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import (
    FitOptions,
    GivenCoefficients,
    GivenModel,
    fit_inflows,
)
from cobre.stochastic.fitting.closure import close
from inflow_records import MONTHS, QUARTERS, fitted, known_process, monthly_history, simulated
from par_recipe import Recipe

N_YEARS = 10_000
STANDARD_ERRORS = 5.0
"""How far an estimate may be from the truth: of a million estimates less than one is farther."""


MIXING = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]])


@pytest.fixture(scope="module")
def long_history():
    return simulated(*known_process(), N_YEARS, 42, MIXING)


@pytest.fixture(scope="module")
def long_fit(long_history):
    return fitted(long_history, FitOptions(max_order=4))


def test_ten_thousand_years_give_back_mean_and_deviation(long_fit):
    _, mean, std = known_process()
    found = long_fit.levels[0].statistics
    assert np.abs((found.mean_m3s - mean) / std).max() < STANDARD_ERRORS / N_YEARS**0.5
    assert np.abs(found.std_m3s / std - 1.0).max() < STANDARD_ERRORS / (2 * N_YEARS) ** 0.5


def test_ten_thousand_years_give_back_orders_and_coefficients(long_fit):
    phi, _, _ = known_process()
    level = long_fit.levels[0]
    true_orders = np.array([[1], [2], [3]]) * np.ones(12, dtype=int)
    # One lag in twenty is significant by chance; a true one is never missed at this length.
    assert (level.orders >= true_orders).all()
    assert (level.orders == true_orders).mean() > 0.8
    padded = np.concatenate([phi, np.zeros((3, 12, 1))], axis=2)
    assert np.abs(level.phi - padded).max() < STANDARD_ERRORS / N_YEARS**0.5


def test_ten_thousand_years_give_back_noise_and_correlation(long_fit):
    phi, _, _ = known_process()
    level = long_fit.levels[0]
    assert np.abs(level.ratio - close(phi).ratio).max() < STANDARD_ERRORS / N_YEARS**0.5
    assert np.abs(long_fit.profiles["default"] - MIXING).max() < STANDARD_ERRORS / (12 * N_YEARS) ** 0.5
    for name, matrix in long_fit.profiles.items():
        assert np.abs(matrix - MIXING).max() < STANDARD_ERRORS / N_YEARS**0.5, name
    assert long_fit.profile_of_season == {m: f"season_{m:02d}" for m in range(12)}
    known = ~np.isnan(level.residuals)
    assert np.where(known, level.residuals, 0.0).std() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("selection", ["aic", "bic"])
def test_information_criteria_find_the_orders_of_a_long_history(long_history, selection):
    level = fitted(long_history, FitOptions(max_order=6, order_selection=selection)).levels[0]
    true_orders = np.array([[1], [2], [3]]) * np.ones(12, dtype=int)
    assert (level.orders >= true_orders).all()
    share = (level.orders == true_orders).mean()
    assert share == 1.0 if selection == "bic" else share > 0.5


def annual_process(n_years, seed=11):
    """Months with one lag and the mean of the year before."""
    phi, effect = 0.45, 0.3
    effective = np.full((1, 12, 12), effect / 12)
    effective[:, :, 0] += phi
    values = simulated(effective, np.full((1, 12), 50.0), np.full((1, 12), 10.0), n_years, seed)
    return phi, effect, close(effective).ratio, values


def test_a_process_with_an_annual_term_is_found_by_pacf_annual():
    phi, effect, ratio, values = annual_process(N_YEARS)
    level = fitted(values, FitOptions(max_order=2, order_selection="pacf_annual")).levels[0]
    # The annual coefficient refers to the deviation of annual means, the effect to that of months.
    found = level.psi / level.annual_std_m3s * 10.0
    assert (level.orders == 1).mean() > 0.8
    assert np.abs(found - effect).max() < 0.15
    assert np.abs(found.mean() - effect) < 0.02
    assert np.abs(level.phi[0, :, 0].mean() - phi) < 0.02
    assert np.abs(level.ratio - ratio).max() < STANDARD_ERRORS / N_YEARS**0.5
    assert level.annual_mean_m3s[0].tolist() == pytest.approx([50.0] * 12, abs=0.5)


def test_a_season_of_order_zero_keeps_its_annual_term_and_its_closure():
    _, _, _, values = annual_process(200)
    level = fitted(values, FitOptions(max_order=0, order_selection="pacf_annual")).levels[0]
    assert not level.orders.any()
    assert (level.psi != 0.0).all()
    assert (level.ratio < 1.0).all()


@pytest.mark.parametrize("is_annual", [False, True], ids=["classical", "annual"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_fit_agrees_with_the_method_worked_out_number_by_number(seed, is_annual):
    """Orders, reductions and coefficients; classical records begin and end within a year, at other months."""
    rng = np.random.default_rng(seed)
    n_years, max_order = int(rng.integers(15, 45)), int(rng.integers(2, 8))
    z = np.zeros(12 * n_years)
    for t in range(2, len(z)):
        z[t] = 0.6 * z[t - 1] - 0.2 * z[t - 2] * (t % 12 > 6) + rng.normal()
    values = (100.0 + 10.0 * z + 20.0 * np.cos(np.arange(len(z)) / 2.0)).reshape(-1, 12)
    if not is_annual:
        values[0, : 2 * seed], values[-1, -3 * seed :] = np.nan, np.nan
    magnitude = 0.75 if seed == 3 else None
    phi, psi = Recipe(values, max_order, is_annual, magnitude).fit()
    selection = "pacf_annual" if is_annual else "pacf"
    options = FitOptions(max_order, selection, max_coefficient_magnitude=magnitude)
    level = fitted(values.reshape(1, -1), options).levels[0]
    assert level.orders[0].tolist() == list(map(len, phi))
    assert level.psi[0].tolist() == pytest.approx(psi, abs=1e-12)
    for m in range(12):
        assert level.phi[0, m, : len(phi[m])].tolist() == pytest.approx(phi[m], abs=1e-12)


def test_seasons_of_much_noise_count_more_in_the_correlation_of_all_seasons(long_history):
    """The format pools what the lags leave unexplained as it is, not divided by its deviation."""
    fit = fitted(long_history[:, : 20 * 12], FitOptions(max_order=2))
    level = fit.levels[0]
    assert list(fit.profiles) == ["default"], "twenty years are too few for a matrix per season"
    noise = level.residuals[:2], (level.residuals * np.tile(level.ratio, (1, 20)))[:2]
    both = np.isfinite(noise[0]).all(axis=0)
    divided, as_it_is = (float(np.corrcoef(each[:, both])[0, 1]) for each in noise)
    assert fit.profiles["default"][0, 1] == pytest.approx(as_it_is, abs=1e-12)
    assert fit.profiles["default"][0, 1] != pytest.approx(divided, abs=1e-4)


def test_a_fit_has_the_same_bits_whatever_other_plants_are_fitted_beside(long_history):
    short = long_history[:, : 60 * 12]
    together = fitted(short).levels[0]
    for h in range(3):
        alone = fitted(short[h : h + 1]).levels[0]
        for name in ("orders", "phi", "ratio", "residuals"):
            assert getattr(alone, name)[0].tobytes() == getattr(together, name)[h].tobytes()


def test_seasons_with_other_ids_give_the_same_model(long_history):
    values = long_history[:, : 50 * 12]
    shifted = SeasonDefinitions("monthly", tuple(Season((m + 7) % 12, "", m + 1) for m in range(12)))
    history = monthly_history(values)
    one, other = fit_inflows(history, MONTHS, range(12)), fit_inflows(history, shifted, range(12))
    assert np.array_equal(one.levels[0].phi, other.levels[0].phi)
    assert {(m + 7) % 12: f"season_{(m + 7) % 12:02d}" for m in range(12)} == other.profile_of_season


def test_only_the_used_seasons_must_have_data_but_all_explain_them(long_history):
    values = long_history[:, : 50 * 12]
    months = SeasonDefinitions("monthly", tuple(Season(m, "", m + 1) for m in (2, 3, 4)))
    history = monthly_history(values)
    one, other = fit_inflows(history, MONTHS, range(12)), fit_inflows(history, months, (2, 3, 4))
    assert np.array_equal(one.levels[0].phi, other.levels[0].phi)


def test_months_and_quarters_each_get_a_model(long_history):
    values = long_history[:, : 60 * 12]
    months = tuple(Season(m, "", m + 1, 1, m + 1) for m in range(12))
    calendar = SeasonDefinitions("custom", (*months, *QUARTERS))
    fit = fit_inflows(monthly_history(values), calendar, range(16))
    assert [level.phi.shape[1] for level in fit.levels] == [12, 4]
    assert (fit.levels[1].statistics.std_m3s > 0.0).all()
    assert fit.profile_of_season[13] == "season_13"


def test_a_given_model_is_used_for_residuals_and_a_given_deviation_for_the_closure(long_history):
    phi, _, _ = known_process()
    values = long_history[:, : 200 * 12]
    given = fitted(
        values, given=GivenModel(coefficients=GivenCoefficients.classical(phi, close(phi).ratio))
    ).levels[0]
    assert np.array_equal(given.phi, phi)
    assert given.orders.tolist() == [[1] * 12, [2] * 12, [3] * 12]
    assert np.nanstd(given.residuals) == pytest.approx(1.0, abs=0.03)
    annual = FitOptions(order_selection="pacf_annual")
    wide = GivenModel(std_m3s=known_process()[2] * np.linspace(0.5, 2.0, 12))
    assert not np.array_equal(
        fitted(values, annual).levels[0].ratio, fitted(values, annual, wide).levels[0].ratio
    )
