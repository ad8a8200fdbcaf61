"""Synthetic series look like the model they come from; diagnostics tell a model that fits from one that does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import FitOptions, GivenCoefficients, GivenModel, fit_inflows
from cobre.stochastic.fitting.diagnostic_tables import diagnostic_tables
from cobre.stochastic.fitting.diagnostics import Band, diagnose
from cobre.stochastic.fitting.measures import (
    SEASON_MEASURES,
    YEAR_MEASURES,
    droughts,
    season_measures,
    year_deviation,
)
from cobre.stochastic.fitting.significance import chi_square_tail, jarque_bera, ljung_box
from cobre.stochastic.fitting.synthetic import SeriesDrawer
from cobre.stochastic.fitting.verdicts import verdicts, verdicts_of_levels
from inflow_records import MONTHS, QUARTERS, monthly_history, river


@pytest.fixture(scope="module")
def fit():
    return fit_inflows(monthly_history(river(60)), MONTHS, range(12))


def drawn(fit, n_series=200, n_years=50, kind="normal"):
    return np.concatenate(list(SeriesDrawer(fit, fit.levels[0], 42, kind).blocks(n_series, n_years)))


@pytest.mark.parametrize("kind", ["normal", "lognormal", "lognormal_nonnegative", "bootstrap"])
def test_series_have_the_means_deviations_and_correlations_of_the_model(fit, kind):
    level = fit.levels[0]
    series = drawn(fit, kind=kind)
    flat = series.transpose(1, 0, 2).reshape(2, -1)
    mean, deviation, _, correlation = season_measures(flat, 12)
    assert np.abs((mean - level.statistics.mean_m3s) / level.statistics.std_m3s).max() < 0.08
    assert np.abs(deviation / level.statistics.std_m3s - 1.0).max() < 0.08
    assert np.abs(correlation - level.implied_rho[:, :, 1]).max() < 0.08


def test_a_series_does_not_depend_on_how_many_are_drawn(fit):
    assert np.array_equal(drawn(fit, 3, 4), drawn(fit, 17, 4)[:3])


def test_lognormal_series_are_negative_more_rarely_than_normal_ones():
    wide = fit_inflows(monthly_history(np.maximum(river(60) * 3.0 - 150.0, 1.0)), MONTHS, range(12))
    normal, lognormal = (float((drawn(wide, kind=kind) < 0.0).mean()) for kind in ("normal", "lognormal"))
    assert normal > 0.02
    assert lognormal < normal / 2.0


def test_nonnegative_lognormal_series_are_never_negative():
    """Of a river with one lag, whose coefficients are not negative and leave a part of every mean to the noise."""
    wide = fit_inflows(monthly_history(river(60) ** 2.0 / 50.0), MONTHS, range(12), FitOptions(max_order=1))
    assert (wide.levels[0].phi >= 0.0).all()
    lowest = {kind: drawn(wide, kind=kind).min() for kind in ("lognormal", "lognormal_nonnegative")}
    assert lowest["lognormal"] < 0.0 <= lowest["lognormal_nonnegative"]


def test_a_bootstrap_keeps_the_skew_of_the_residuals():
    rng = np.random.default_rng(8)
    values = 100.0 + 20.0 * (rng.exponential(size=(1, 12 * 80)) - 1.0)
    fit = fit_inflows(monthly_history(values), MONTHS, range(12))
    skew = {
        kind: season_measures(drawn(fit, 50, 80, kind).reshape(50, -1), 12)[2].mean()
        for kind in ("normal", "bootstrap")
    }
    assert abs(skew["normal"]) < 0.1
    assert skew["bootstrap"] > 0.8


def test_droughts_are_runs_below_the_mean_and_the_water_they_lack():
    values = np.array([[5.0, 5.0, 20.0, 5.0, 5.0, 5.0, np.nan, 5.0], [10.0] * 8])
    found = droughts(values, np.full((2, 2), 10.0), np.full(8, 30))
    assert found.longest.tolist() == [3.0, 0.0]
    assert found.deficit_hm3.tolist() == pytest.approx([3 * 5.0 * 0.0036 * 24 * 30, 0.0])


def test_years_vary_by_the_deviation_of_their_means():
    values = np.array([[1.0, 3.0, 5.0, 7.0, np.nan, 100.0]])
    assert year_deviation(values, 2).tolist() == [2.0]


def test_measures_by_season():
    values = np.array([[1.0, 2.0, 2.0, 4.0, 6.0, 9.0]])
    mean, deviation, skewness, correlation = season_measures(values, 2)[:, 0]
    odd, even = np.array([1.0, 2.0, 6.0]), np.array([2.0, 4.0, 9.0])
    assert mean.tolist() == [3.0, 5.0]
    assert deviation.tolist() == pytest.approx([odd.std(), even.std()])
    assert skewness[0] == pytest.approx(((odd - 3.0) ** 3).mean() / odd.std() ** 3)
    assert correlation[1] == pytest.approx(np.corrcoef(odd, even)[0, 1])


@pytest.mark.parametrize(("value", "degrees", "tail"), [(3.0, 3, 0.3916251762710877), (18.307038053275146, 10, 0.05),
                                                         (26.216967305535853, 12, 0.01), (0.0, 4, 1.0)])  # fmt: skip
def test_the_tail_of_the_chi_square_distribution(value, degrees, tail):
    assert chi_square_tail(value, degrees) == pytest.approx(tail, rel=1e-6)


def test_ljung_box_finds_correlation_in_time_and_none_in_noise():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=600)
    assert ljung_box(noise, 1)[1] > 0.01
    memory = noise.copy()
    for t in range(1, 600):
        memory[t] += 0.3 * memory[t - 1]
    assert ljung_box(memory, 1)[1] < 1e-6
    assert ljung_box(np.full(600, np.nan), 1) == (0.0, 1.0)


def test_jarque_bera_finds_skewed_residuals():
    rng = np.random.default_rng(4)
    assert jarque_bera(rng.normal(size=600))[3] > 0.01
    skewness, kurtosis, _, p = jarque_bera(rng.exponential(size=600))
    assert skewness > 1.0
    assert kurtosis > 1.0
    assert p < 1e-6


def test_a_band_holds_nine_in_ten():
    band = Band.of(np.array([0.5, 97.0]), np.tile(np.arange(101.0)[:, np.newaxis], 2))
    assert (band.low.tolist(), band.high.tolist(), band.mean.tolist()) == (
        [5.0, 5.0],
        [95.0, 95.0],
        [50.0, 50.0],
    )
    assert band.is_outside.tolist() == [True, True]


def test_a_model_that_fits_is_called_good(fit):
    found = verdicts(diagnose(fit)[0], fit.options)
    assert [str(verdict) for verdict in found] == ["good", "good"]


def test_a_model_without_memory_is_called_poor_and_the_reason_is_given():
    values = river(60)
    none = GivenModel(coefficients=GivenCoefficients.classical(np.zeros((2, 12, 0)), np.ones((2, 12))))
    fit = fit_inflows(monthly_history(values), MONTHS, range(12), None, [none])
    for verdict in verdicts(diagnose(fit)[0], fit.options):
        assert verdict.word == "poor"
        assert any("correlation with the season before" in reason for reason in verdict.reasons)
        assert any("still correlated in time" in reason for reason in verdict.reasons)
        assert any("years vary more" in reason for reason in verdict.reasons)


def test_skewed_inflows_ask_for_other_residuals():
    rng = np.random.default_rng(8)
    values = 100.0 + 20.0 * (rng.exponential(size=(1, 12 * 80)) - 1.0)
    fit = fit_inflows(monthly_history(values), MONTHS, range(12))
    (normal,) = verdicts(diagnose(fit)[0], fit.options)
    (bootstrap,) = verdicts(diagnose(fit, kind="bootstrap")[0], fit.options)
    assert any("skewness" in reason for reason in normal.reasons)
    assert not any("skewness" in reason for reason in bootstrap.reasons)


def test_a_plant_with_a_short_record_is_compared_with_series_as_short_as_its_record():
    """Twenty of ninety years: their skewness and droughts vary as those of twenty years do."""
    values = river(90)
    values[1, : 70 * 12] = np.nan
    (found,) = diagnose(fit_inflows(monthly_history(values), MONTHS, range(12)))
    (alone,) = diagnose(fit_inflows(monthly_history(values[1:, 70 * 12 :]), MONTHS, range(12)))
    skewness = SEASON_MEASURES.index("skewness")
    widths = [(each.seasons.high - each.seasons.low)[skewness, -1].mean() for each in (found, alone)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    longest = YEAR_MEASURES.index("longest_drought")
    assert found.years.mean[longest, 1] == pytest.approx(alone.years.mean[longest, 0], rel=0.1)


def test_statistics_of_the_case_are_what_is_compared_with_the_history():
    """Coefficients are fitted, but the study draws inflows around the mean that the case gives."""
    values = river(60)
    std = values.reshape(2, -1, 12).std(axis=1)
    given = GivenModel(mean_m3s=np.full((2, 12), 500.0), std_m3s=std)
    fit = fit_inflows(monthly_history(values), MONTHS, range(12), None, [given])
    series = drawn(fit)
    assert series.mean() == pytest.approx(500.0, rel=0.01)
    for verdict in verdicts(diagnose(fit)[0], fit.options):
        assert verdict.word == "poor"
        assert "the mean of 12 of 12 seasons is not reproduced" in verdict.reasons


def test_seasons_without_statistics_of_the_case_keep_the_fitted_ones():
    values = river(60)
    mean, std = np.full((2, 12), np.nan), np.full((2, 12), np.nan)
    mean[:, :3], std[:, :3] = 500.0, 20.0
    fit = fit_inflows(monthly_history(values), MONTHS, range(3), None, [GivenModel(mean, std)])
    level = fit.levels[0]
    assert level.mean_m3s[:, :3].tolist() == [[500.0] * 3] * 2
    assert np.array_equal(level.mean_m3s[:, 3:], level.statistics.mean_m3s[:, 3:])
    assert np.array_equal(level.std_m3s[:, 3:], level.statistics.std_m3s[:, 3:])


def test_a_plant_without_records_is_said_to_have_none():
    values = np.concatenate([river(60, 1), np.full((1, 720), np.nan)])
    given = GivenModel(np.full((2, 12), 50.0), np.full((2, 12), 10.0))
    fit = fit_inflows(monthly_history(values), MONTHS, range(12), None, [given])
    found = verdicts(diagnose(fit)[0], fit.options)
    assert found[1].reasons == ("it has no history to compare with",)


@pytest.mark.parametrize("n_years", [2, 5])
def test_a_model_of_a_few_years_is_called_poor(n_years):
    fit = fit_inflows(monthly_history(river(n_years)), MONTHS, range(12))
    assert {verdict.word for verdict in verdicts(diagnose(fit)[0], fit.options)} == {"poor"}


def test_a_river_that_does_not_vary_is_not_good():
    fit = fit_inflows(monthly_history(np.full((1, 720), 50.0)), MONTHS, range(12))
    (verdict,) = verdicts(diagnose(fit)[0], fit.options)
    assert str(verdict) == "poor: the inflow of 12 of 12 seasons does not vary"
    values = river(60, 1)
    values[0, 6::12] = 20.0
    fit = fit_inflows(monthly_history(values), MONTHS, range(12))
    (verdict,) = verdicts(diagnose(fit)[0], fit.options)
    assert "the inflow of 1 of 12 seasons does not vary" in verdict.reasons
    assert verdict.word == "fair"


def test_a_river_of_mostly_negative_inflows_is_called_poor():
    fit = fit_inflows(monthly_history(-river(60, 1)), MONTHS, range(12))
    (verdict,) = verdicts(diagnose(fit)[0], fit.options)
    assert verdict.word == "poor"


def test_a_verdict_is_about_all_levels_of_the_calendar():
    """The quarters of this fit are said to have three observations each."""
    values = river(60, 1)
    seasons = tuple(Season(m, "", m + 1, 1, m + 1) for m in range(12))
    options = FitOptions(max_order=1)
    calendar = SeasonDefinitions("custom", (*seasons, *QUARTERS))
    fit = fit_inflows(monthly_history(values), calendar, range(16), options)
    diagnostics = diagnose(fit)
    short = replace(diagnostics[1].fit.statistics, count=np.full((1, 4), 3))
    few = replace(diagnostics[1], fit=replace(diagnostics[1].fit, statistics=short))
    (verdict,) = verdicts_of_levels([diagnostics[0], few], options)
    assert verdict.word == "poor"
    assert "4 seasons a year: a season has only 3 observations" in verdict.reasons


def test_a_short_history_is_a_reason():
    options = FitOptions(max_order=1)
    fit = fit_inflows(monthly_history(river(12)), MONTHS, range(12), options)
    assert all(
        "only 12 observations" in " ".join(each.reasons) for each in verdicts(diagnose(fit)[0], options)
    )


def test_the_tables_have_every_plant_season_and_pair(fit):
    diagnostics = diagnose(fit)
    tables = diagnostic_tables(diagnostics, verdicts(diagnostics[0], fit.options))
    assert {name: len(columns["hydro"]) for name, columns in tables.items()} == {
        "seasons": 2 * 12 * 4,
        "autocorrelation": 2 * 12 * 6,
        "years": 2 * 3,
        "pairs": 1,
        "residuals": 2,
        "verdicts": 2,
    }
    for columns in tables.values():
        assert len({len(column) for column in columns.values()}) == 1
    seasons = tables["seasons"]
    assert seasons["observed"][0] == pytest.approx(river(60)[0, ::12].mean())
    assert not any(math.isnan(value) for value in seasons["synthetic"])


def test_diagnostics_have_the_same_bits_each_time(fit):
    first, second = diagnose(fit)[0], diagnose(fit)[0]
    assert first.seasons.mean.tobytes() == second.seasons.mean.tobytes()
    assert first.pairs.high.tobytes() == second.pairs.high.tobytes()
