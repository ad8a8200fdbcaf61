"""Records of any length become one number per season and year."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import InflowHistory, levels_of, observe, windows_of_dates
from inflow_records import MONTHS, QUARTERS, month_days, monthly_history

EPOCH = dt.date(1970, 1, 1)


def day(text):
    return (dt.date.fromisoformat(text) - EPOCH).days


def records(*rows):
    """Windows (start, end, value) of one hydro."""
    return InflowHistory(
        1,
        np.zeros(len(rows), dtype=np.int64),
        np.array([day(row[0]) for row in rows]),
        np.array([day(row[1]) for row in rows]),
        np.array([float(row[2]) for row in rows]),
    )


def observed(history, calendar=MONTHS, level=0):
    return observe(history, levels_of(calendar)[level])


def test_monthly_records_pass_to_the_last_bit():
    values = np.random.default_rng(1).uniform(1, 99, size=(1, 25))
    found = observed(monthly_history(values, "2001-03"))
    assert found.first_year == 2001
    assert found.series[0, 2:27].tolist() == values[0].tolist()
    assert np.isnan(found.series[0, :2]).all()
    assert np.isnan(found.series[0, 27:]).all()


def test_months_make_a_quarter_weighted_by_their_days():
    history = monthly_history([[100.0, 200.0, 300.0]], "2020-01")
    found = observed(history, SeasonDefinitions("custom", QUARTERS))
    assert found.values[0, 0, 0] == (3100 + 5800 + 9300) / 91 == 200.0
    assert np.isnan(found.values[0, 0, 1:]).all()


def test_a_week_counts_in_each_month_with_its_days_there():
    history = records(
        ("2026-03-28", "2026-04-04", 220),
        ("2026-04-04", "2026-04-11", 400),
        ("2026-04-11", "2026-04-18", 420),
        ("2026-04-18", "2026-04-25", 440),
        ("2026-04-25", "2026-05-02", 460),
    )
    found = observed(history)
    assert found.values[0, 0, 3] == pytest.approx((660 + 2800 + 2940 + 3080 + 2760) / 30, rel=1e-14)
    assert found.coverage[0, 0, 2] == pytest.approx(4 / 31)
    assert np.isnan(found.values[0, 0, 2])


def test_a_month_that_is_covered_in_part_is_no_observation():
    found = observed(records(("2020-01-01", "2020-01-31", 5), ("2020-02-01", "2020-03-01", 7)))
    assert np.isnan(found.values[0, 0, 0])
    assert found.values[0, 0, 1] == 7.0


def test_a_record_of_a_quarter_gives_its_months_the_same_flow():
    found = observed(records(("2019-10-01", "2020-01-01", 12)))
    assert found.values[0, 0, 9:].tolist() == [12.0, 12.0, 12.0]


def test_a_season_across_new_year_belongs_to_the_year_in_which_it_begins():
    wet, dry = Season(0, "wet", 11, 1, 4, 30), Season(1, "dry", 5, 1, 10, 31)
    level = levels_of(SeasonDefinitions("custom", (wet, dry)))[0]
    assert level.season_ids == (1, 0)
    assert level.occurrence(1, 2019) == (dt.date(2019, 11, 1), dt.date(2020, 5, 1))
    found = observe(records(("2019-11-01", "2020-05-01", 3), ("2020-05-01", "2020-11-01", 4)), level)
    assert found.first_year == 2019
    assert found.series[0, 1:3].tolist() == [3.0, 4.0]


def test_seasons_stand_in_calendar_order_whatever_their_ids():
    level = levels_of(
        SeasonDefinitions("monthly", tuple(Season((m + 5) % 12, "", m + 1) for m in range(12)))
    )[0]
    assert level.season_ids == (5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4)


def test_a_monthly_cycle_has_twelve_months_even_if_the_case_names_three():
    level = levels_of(SeasonDefinitions("monthly", tuple(Season(m, "", m + 1) for m in (2, 3, 4))))[0]
    assert level.n_seasons == 12
    assert level.season_ids[1:6] == (None, 2, 3, 4, None)


def test_the_last_week_takes_week_53():
    level = levels_of(SeasonDefinitions("weekly", tuple(Season(w, "", 1) for w in range(52))))[0]
    assert level.occurrence(51, 2020) == (dt.date(2020, 12, 21), dt.date(2021, 1, 4))
    assert level.occurrence(51, 2021) == (dt.date(2021, 12, 27), dt.date(2022, 1, 3))
    assert level.occurrence(0, 2025) == (dt.date(2024, 12, 30), dt.date(2025, 1, 6))


def test_months_and_quarters_are_two_levels_that_both_get_observations():
    months = tuple(Season(m, "", m + 1, 1, m + 1) for m in range(12))
    levels = levels_of(SeasonDefinitions("custom", (*months, *QUARTERS)))
    assert [level.season_ids for level in levels] == [tuple(range(12)), (12, 13, 14, 15)]
    assert levels[0].is_monthly
    assert not levels[1].is_monthly
    history = monthly_history([np.arange(24.0)], "2001-01")
    assert [observe(history, level).values.shape for level in levels] == [(1, 2, 12), (1, 2, 4)]


def of_dates(days, values, n_hydros=1, hydro=None):
    hydro = np.zeros(len(days), dtype=np.int64) if hydro is None else np.array(hydro)
    return windows_of_dates(n_hydros, hydro, np.array(days, dtype=np.int64), np.array(values, dtype=float))


@pytest.mark.parametrize("shift", [0, 14, 27], ids=["first day", "mid-month", "last days"])
def test_dates_a_month_apart_stand_for_their_months(shift):
    starts, ends = month_days("2001-01", 24)
    history, merged = of_dates(starts + shift, np.arange(24.0))
    assert history.start_day.tolist() == starts.tolist()
    assert history.end_day.tolist() == ends.tolist()
    assert merged == [0]


def test_daily_dates_stand_for_days():
    first = day("2020-01-01")
    history, _ = of_dates(range(first, first + 60), np.arange(60.0))
    found = observed(history)
    assert found.values[0, 0, 0] == 15.0
    assert found.values[0, 0, 1] == 45.0
    assert np.isnan(found.values[0, 0, 2])


def test_dates_of_weeks_and_of_ten_days_last_until_the_next():
    first = day("2020-01-01")
    history, _ = of_dates([first, first + 7, first + 14, first + 28], [1, 2, 3, 4])
    assert (history.end_day - history.start_day).tolist() == [7, 7, 7, 7]
    decades = [day(f"2020-{m:02d}-{d:02d}") for m in (1, 2, 3) for d in (1, 11, 21)]
    history, _ = of_dates(decades, range(9))
    assert history.end_day.tolist()[:-1] == decades[1:]


def test_several_dates_of_a_month_are_averaged_and_counted():
    starts, _ = month_days("2001-01", 24)
    days = np.sort(np.append(starts, starts[3] + 10))
    history, merged = of_dates(
        days, np.append(np.arange(24.0), 30.0)[np.argsort(np.append(starts, starts[3] + 10))]
    )
    assert merged == [2]
    assert history.value_m3s[3] == (3.0 + 30.0) / 2


@pytest.mark.parametrize("shift", [0, 14], ids=["first day", "mid-month"])
def test_months_followed_by_days_stand_for_months_and_days(shift):
    """The usual archive: monthly means of old years, daily ones of recent years."""
    starts, ends = month_days("2001-01", 36)
    days = np.arange(starts[12], starts[30])
    dates = np.concatenate([starts[:12] + shift, days, starts[30:] + shift])
    history, merged = of_dates(dates, np.arange(float(len(dates))))
    assert merged == [0]
    assert history.start_day.tolist() == [*starts[:12], *days, *starts[30:]]
    assert history.end_day.tolist() == [*ends[:12], *(days + 1), *ends[30:]]
    assert np.isfinite(observed(history).values).all()


def test_a_day_between_gaps_of_a_daily_record_stands_for_that_day():
    first = day("2001-01-01")
    kept = [d for d in range(first, first + 365) if not day("2001-03-02") <= d < day("2001-05-03")]
    kept = sorted([*kept, day("2001-04-15")])
    history, _ = of_dates(kept, np.ones(len(kept)))
    assert (history.end_day - history.start_day).tolist() == [1] * len(kept)


def test_each_hydro_has_a_resolution_of_its_own():
    starts, _ = month_days("2001-01", 12)
    first = day("2001-01-01")
    days = [*starts.tolist(), *range(first, first + 31)]
    history, _ = of_dates(days, np.ones(len(days)), 2, [0] * 12 + [1] * 31)
    assert (history.end_day - history.start_day)[:1].tolist() == [31]
    assert (history.end_day - history.start_day)[12:].tolist() == [1] * 31
