"""Doubtful histories: each gets its word, an error, a warning or a repair that is named."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.horizon import SeasonDefinitions
from cobre.stochastic.fitting import FitOptions, GivenModel, InflowHistory, fit_inflows, levels_of
from cobre.stochastic.fitting.fit import fit_observations
from cobre.stochastic.fitting.history import Observations
from inflow_records import (
    MONTHS,
    QUARTERS,
    fitted,
    known_process,
    month_days,
    monthly_history,
    river,
    simulated,
)


def words(values, severity="warning", options=None, first="1931-01"):
    fit = fit_inflows(monthly_history(values, first), MONTHS, range(12), options)
    return [finding.message for finding in fit.findings if finding.severity == severity]


def ordinary(n_years=40, n_hydros=1):
    phi, mean, std = (each[:n_hydros] for each in known_process())
    return np.maximum(simulated(phi, mean, std, n_years, 5), 1.0)


def test_an_ordinary_history_gives_no_warning():
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


def test_a_record_that_begins_and_ends_within_a_month_gives_no_warning():
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


def test_a_day_in_other_units_and_a_code_for_missing_values_are_named():
    """Either disappears in the mean of its month."""
    n_days = 40 * 365
    start = month_days("1971-01", 1)[0][0] + np.arange(n_days)
    values = 50.0 + 20.0 * np.random.default_rng(3).random(n_days)
    values[9_000] *= 1000.0
    history = InflowHistory(1, np.zeros(n_days, dtype=np.int64), start, start + 1, values)
    (finding,) = [
        each for each in fit_inflows(history, MONTHS, range(12)).findings if "units" in each.message
    ]
    assert "the flow from 1995-08-23 on (the first " in finding.message
    values[9_000] = -9999.0
    (finding,) = [
        each for each in fit_inflows(history, MONTHS, range(12)).findings if "-9999" in each.message
    ]
    assert "leave out what was not observed" in finding.remedy


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


@pytest.mark.parametrize("n_years", [31, 45])
def test_a_river_with_a_long_memory_keeps_the_lags_that_settle(n_years):
    """A month goes with the last by 0.95. By chance some plant of sixty has longer lags that do not settle."""
    phi = np.full((60, 12, 1), 0.95)
    fit = fitted(simulated(phi, np.full((60, 12), 50.0), np.full((60, 12), 10.0), n_years, 3))
    assert not fit.errors
    level = fit.levels[0]
    told = [finding for finding in fit.findings if "too few for its lags" in finding.message]
    assert told, "some plant has such lags"
    for finding in told:
        assert f"{n_years} observations of a season" in finding.message
        assert "trends" in finding.remedy
    assert (level.radius < 1.0).all()


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
