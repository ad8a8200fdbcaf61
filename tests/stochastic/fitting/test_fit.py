"""A whole fit: known processes come back, and every doubtful history gets its word."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import (
    FitOptions,
    GivenCoefficients,
    GivenModel,
    InflowHistory,
    fit_inflows,
    levels_of,
)
from cobre.stochastic.fitting.closure import close
from cobre.stochastic.fitting.fit import fit_observations
from cobre.stochastic.fitting.history import Observations
from inflow_records import MONTHS, QUARTERS, monthly_history, river
from par_recipe import Recipe

N_YEARS = 10_000
STANDARD_ERRORS = 5.0
"""How far an estimate may be from the truth: of a million estimates less than one is farther."""


def simulated(phi, mean, std, n_years, seed, mixing=None):
    """Inflows (hydros, months) of a periodic autoregression with coefficients (hydros, 12, lags)."""
    n_hydros, n_seasons, n_lags = phi.shape
    ratio = close(phi).ratio
    noise = np.random.default_rng(seed).normal(size=((n_years + 20) * n_seasons, n_hydros))
    if mixing is not None:
        noise = noise @ np.linalg.cholesky(mixing).T
    z = np.zeros((len(noise) + n_lags, n_hydros))
    for t, each in enumerate(noise):
        season = t % n_seasons
        z[t + n_lags] = ratio[:, season] * each
        for lag in range(1, n_lags + 1):
            z[t + n_lags] += phi[:, season, lag - 1] * z[t + n_lags - lag]
    kept = z[-n_years * n_seasons :].T
    return np.tile(mean, (1, n_years)) + np.tile(std, (1, n_years)) * kept


def fitted(values, options=None, given=None):
    """The fit of whole years of months (hydros, months), however many."""
    level = levels_of(MONTHS)[0]
    grid = np.asarray(values).reshape(len(values), -1, 12)
    observations = Observations(level, 1, grid, np.ones_like(grid))
    return fit_observations([(observations, given or GivenModel())], range(12), options)


def known_process():
    month = np.arange(12)
    phi = np.zeros((3, 12, 3))
    phi[0, :, 0] = 0.55 + 0.2 * np.sin(month)
    phi[1, :, 0], phi[1, :, 1] = 0.4, 0.25
    phi[2, :, 0], phi[2, :, 1], phi[2, :, 2] = 0.35, 0.15, 0.2
    mean = np.array([[100.0], [500.0], [20.0]]) * (1.5 + np.cos(month / 2))
    return phi, mean, 0.35 * mean


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


def words(values, severity="warning", options=None, first="1931-01"):
    fit = fit_inflows(monthly_history(values, first), MONTHS, range(12), options)
    return [finding.message for finding in fit.findings if finding.severity == severity]


def ordinary(n_years=40, n_hydros=1):
    phi, mean, std = (each[:n_hydros] for each in known_process())
    return np.maximum(simulated(phi, mean, std, n_years, 5), 1.0)


def test_an_ordinary_history_needs_no_word():
    assert not words(ordinary())
    assert not words(ordinary(), "error")


def test_a_gap_inside_is_an_error_that_names_the_months():
    values = ordinary()
    values[0, [25, 26]] = np.nan
    (message,) = words(values, "error")
    assert "1933-02, 1933-03" in message


def test_a_gap_in_the_first_year_is_a_warning():
    values = ordinary()
    values[0, 3] = np.nan
    (message,) = words(values)
    assert "1931-04" in message


def test_a_month_with_missing_days_is_left_out_with_a_warning():
    history = monthly_history(ordinary())
    ends = history.end_day.copy()
    ends[25] -= 3
    short = InflowHistory(1, history.hydro, history.start_day, ends, history.value_m3s)
    fit = fit_inflows(short, MONTHS, range(12))
    (finding,) = fit.findings
    assert finding.severity == "warning"
    assert "1933-02" in finding.message
    assert fit.levels[0].statistics.count[0].tolist() == [40, 39] + [40] * 10


def test_years_of_which_records_cover_a_part_only_are_named_before_the_first_whole_month_too():
    history = monthly_history(ordinary())
    ends = history.end_day.copy()
    ends[:120] -= 3
    short = InflowHistory(1, history.hydro, history.start_day, ends, history.value_m3s)
    (finding,) = fit_inflows(short, MONTHS, range(12)).findings
    assert (finding.severity, finding.value) == ("warning", 119)
    assert "1931-02, 1931-03" in finding.message


def test_a_record_that_begins_and_ends_within_a_month_needs_no_word():
    history = monthly_history(ordinary())
    starts, ends = history.start_day.copy(), history.end_day.copy()
    starts[0] += 3
    ends[-1] -= 3
    inside = InflowHistory(1, history.hydro, starts, ends, history.value_m3s)
    assert not fit_inflows(inside, MONTHS, range(12)).findings


def test_records_longer_than_seasons_are_named():
    """Quarterly records give the three months of a quarter the same flow."""
    history = monthly_history(ordinary())
    start, end = history.start_day[::3], history.end_day[2::3]
    quarters = InflowHistory(1, history.hydro[::3], start, end, history.value_m3s[::3])
    found = fit_inflows(quarters, MONTHS, range(12)).findings
    assert any("records last up to 92 days" in finding.message for finding in found)


def test_negative_flows_are_a_warning_that_counts_them():
    values = ordinary()
    values[0, [5, 77]] = -3.5
    (message,) = words(values)
    assert "2 of 480" in message
    assert "-3.5" in message


def test_a_season_that_is_often_negative_is_named():
    values = ordinary()
    values[0, 6 : 6 + 60 : 12] = -1.0
    assert any("season 6: more than a tenth" in message for message in words(values))


def test_a_constant_series_is_a_warning_and_has_no_lags():
    fit = fit_inflows(monthly_history(np.full((1, 480), 7.0)), MONTHS, range(12))
    (finding,) = fit.findings
    assert "all observations are the same" in finding.message
    assert not fit.levels[0].statistics.std_m3s.any()
    assert not fit.levels[0].orders.any()
    assert fit.levels[0].ratio.tolist() == [[1.0] * 12]


def test_two_years_are_a_warning_and_one_is_an_error():
    (message,) = words(ordinary(2))
    assert "one only 2" in message
    fit = fit_inflows(monthly_history(ordinary(2)), MONTHS, range(12))
    assert not fit.levels[0].orders.any()
    (message,) = words(ordinary(1), "error")
    assert "a deviation needs 2" in message


def test_a_hydro_without_records_is_an_error():
    values = np.concatenate([ordinary(), np.full((1, 480), np.nan)])
    (message,) = words(values, "error")
    assert message == "has no inflow history"


def test_the_annual_term_needs_thirteen_months_and_a_monthly_calendar():
    annual = FitOptions(order_selection="pacf_annual")
    assert any("needs 13" in message for message in words(ordinary(1), "error", annual))
    quarters = SeasonDefinitions("custom", QUARTERS)
    fit = fit_inflows(monthly_history(ordinary()), quarters, range(12, 16), annual)
    assert any("twelve monthly seasons" in finding.message for finding in fit.errors)


def test_a_model_that_leaves_no_noise_is_refused():
    month = np.arange(480.0)
    (finding,) = fitted([100.0 + 10.0 * (month % 12) + month // 12]).errors
    assert "not stationary" in finding.message


@pytest.mark.parametrize("selection", ["pacf", "bic", "pacf_annual"])
@pytest.mark.parametrize("n_years", [3, 4, 5, 8])
def test_lags_of_a_short_history_that_do_not_settle_are_given_up(n_years, selection):
    values = river(n_years, 20)
    fit = fitted(values, FitOptions(order_selection=selection))
    assert not fit.errors
    level = fit.levels[0]
    lowered = {event.hydro for event in level.reductions if event.reason == "not_stationary"}
    told = {finding.hydro for finding in fit.findings if "too few for its lags" in finding.message}
    assert lowered <= told
    assert told, "some plant of twenty has such a history"
    assert (level.radius < 1.0).all()
    assert (level.ratio > 0.0).all()
    kept = sorted(set(range(20)) - told)
    if kept:
        alone = fitted(values[kept], FitOptions(order_selection=selection)).levels[0]
        assert alone.phi.tobytes() == level.phi[kept].tobytes()


def test_plants_without_common_dates_are_named():
    values = np.repeat(ordinary(80), 3, axis=0)
    values[0, :480], values[1, 480:] = np.nan, np.nan
    found = [finding for finding in fitted(values).findings if "in common" in finding.message]
    assert [(finding.severity, finding.hydro, finding.value) for finding in found] == [
        ("warning", 0, 0),
        ("warning", 1, 0),
    ]
    assert "1 of 2 other plants" in found[0].message


def test_records_of_different_years_may_need_their_correlations_repaired():
    rng = np.random.default_rng(2)
    common = rng.normal(size=(3, 36 * 12))
    values = np.full((3, 108 * 12), np.nan)
    third = 36 * 12
    # Pair by pair the plants agree or disagree perfectly, over years that the third plant lacks.
    values[0, :third] = values[1, :third] = common[0]
    values[1, third : 2 * third] = values[2, third : 2 * third] = common[1]
    values[0, 2 * third :], values[2, 2 * third :] = common[2], -common[2]
    level = levels_of(MONTHS)[0]
    grid = 100.0 + values.reshape(3, -1, 12)
    observations = Observations(level, 1, grid, (~np.isnan(grid)).astype(float))
    fit = fit_observations([(observations, GivenModel())], range(12))
    assert any("contradict each other" in finding.message for finding in fit.findings)
    assert np.linalg.eigvalsh(fit.profiles["default"])[0] > -1e-12
