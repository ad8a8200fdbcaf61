"""Records that no river has: each is named, and ordinary rivers are not."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.stochastic.fitting import InflowHistory, fit_inflows
from cobre.stochastic.fitting.plausibility import copies
from inflow_records import MONTHS, fitted, month_days, monthly_history, river


def told(values):
    """Hydro and text of each warning that these values (hydros, months) get."""
    fit = fit_inflows(monthly_history(values), MONTHS, range(12))
    return [(finding.hydro, finding.message) for finding in fit.findings if finding.severity == "warning"]


@pytest.mark.parametrize("value", [0.0, 57.25])
def test_records_that_were_filled_with_one_value_are_named(value):
    values = river(40)
    values[1, 120:144] = value
    assert told(values) == [(1, f"24 observations in a row, 1941-01 to 1942-12, all are {value:g} m3/s")]


def test_half_a_year_of_equal_records_is_named_but_not_five_months_or_a_dry_season():
    values = river(40, 3)
    values[0, 120:126], values[1, 120:125], values[2, 120:131] = 57.25, 57.25, 0.0
    ((hydro, message),) = told(values)
    assert (hydro, message.partition(",")[0]) == (0, "6 observations in a row")


def test_flows_rounded_to_whole_numbers_may_repeat_for_half_a_year():
    values = np.round(river(40))
    values[0, 120:130] = 57.0
    assert not told(values)
    values[0, 120:132] = 57.0
    assert len(told(values)) == 1


def test_a_constant_plant_gets_one_warning():
    values = river(40)
    values[0] = 57.25
    ((_, message),) = told(values)
    assert "all observations are the same" in message


def test_a_gap_ends_a_run():
    values = river(40)
    values[0, 120:132], values[0, 125] = 57.25, np.nan
    values[0, 131] = 58.0
    fit = fit_inflows(monthly_history(values), MONTHS, range(12))
    assert not any("in a row" in finding.message for finding in fit.findings)


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_a_level_that_changes_for_good_is_named_with_its_year(factor):
    values = river(60)
    values[0, 30 * 12 :] *= factor
    ((hydro, message),) = told(values)
    assert hydro == 0
    assert any(f"m3/s until {year} and" in message for year in (1959, 1960, 1961))
    assert "Pettitt" in message


def test_ordinary_rivers_get_no_warning():
    """Of 200 rivers with memory, of which chance alone makes hardly one look like two."""
    values = np.concatenate([river(60, 50, seed) for seed in range(4)])
    assert not [message for hydro, message in told(values) if hydro is not None]


def test_more_plants_than_years_are_named_once_for_all_profiles():
    """Plants that skip their first years' residuals, each as many as it has lags, lack a date or two."""
    ((hydro, message),) = told(river(60, 100))
    assert hydro is None
    assert message.startswith("100 plants, of which a pair has only 59 dates in common")
    assert "season_01" in message


def test_copies_are_found_with_the_first_of_the_same_records():
    values = river(40, 4)
    values[2] = values[1]
    values[3] = 2.0 * values[1]  # of the area of a basin: in proportion, and no copy
    values[2, 7] += 1.0
    assert copies(fitted(values).levels[0].observations) == [(2, 1)]


def test_plants_without_water_are_no_copies():
    values = river(40, 3)
    values[1], values[2] = 0.0, 0.0
    assert not copies(fitted(values).levels[0].observations)


def test_records_across_the_bounds_of_seasons_are_named():
    values = river(40, 1)[0]
    starts, ends = month_days("1961-01", len(values))
    hydro = np.zeros(len(values), dtype=np.int64)
    fit = fit_inflows(InflowHistory(1, hydro, starts + 14, ends + 14, values), MONTHS, range(12))
    (message,) = [each.message for each in fit.findings if "two seasons" in each.message]
    assert message.startswith("480 of 480 records lie in two seasons each, the first from 1961-01-15 on")
    fit = fit_inflows(InflowHistory(1, hydro, starts + 3, ends + 3, values), MONTHS, range(12))
    assert not any("two seasons" in each.message for each in fit.findings)
