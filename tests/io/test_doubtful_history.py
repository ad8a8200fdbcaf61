"""What is wrong with a history, and the word for it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import cobre
from cobre.io.loading import validate
from history_cases import HISTORY, LAGS, STATS, dated, errors, history_case, loaded, monthly, windowed
from inflow_records import river


def changed(values, *changes):
    result = values.copy()
    for index, value in changes:
        result[index] = value
    return result


def test_a_gap_is_an_error_that_names_the_plant_and_the_months(tmp_path):
    values = changed(river(60), ((1, slice(121, 124)), np.nan))
    (error,) = errors(history_case(tmp_path / "case", values))
    assert (error.kind, error.file, error.entity) == ("CoverageMismatch", HISTORY, "hydro 1 (LOWER)")
    assert "1971-02, 1971-03, 1971-04" in error.message


def test_a_date_that_is_there_twice_is_an_error(tmp_path):
    case = history_case(tmp_path / "case")
    for name, values in case.tables[HISTORY].items():
        values.append(values[0] if name != "value_m3s" else 1.0)
    (error,) = errors(case)
    assert (error.kind, error.field) == ("DuplicateId", "hydro_id, date")


def test_windows_that_overlap_or_end_before_they_begin_are_errors(tmp_path):
    case = history_case(tmp_path / "case", columns=windowed)
    table = case.tables[HISTORY]
    table["end_date"][3] += 5
    table["end_date"][9] = table["start_date"][9]
    found = {(error.kind, error.field) for error in errors(case)}
    assert found == {("DuplicateId", "start_date"), ("OutOfRange", "end_date")}


def test_two_dates_in_a_month_are_averaged_with_a_warning(tmp_path):
    case = history_case(tmp_path / "case")
    table = case.tables[HISTORY]
    table["hydro_id"].append(0)
    table["date"].append(table["date"][5] + 9)
    table["value_m3s"].append(50.0)
    (warning,) = validate(case.write()).warnings
    assert (warning.kind, warning.field, warning.value) == ("DuplicateId", "date", 2)
    assert "their mean is used" in warning.message


def test_negative_values_are_a_warning(tmp_path):
    values = changed(river(60), ((0, 7), -4.0))
    _, (warning,) = loaded(history_case(tmp_path / "case", values))
    assert "1 of 720 records are negative, the least -4 m3/s" in warning


def test_a_constant_series_is_a_warning_and_a_certain_inflow(tmp_path):
    values = river(60)
    values[0] = 33.0
    study, (warning,) = loaded(history_case(tmp_path / "case", values))
    assert "hydro 0 (UPPER): season" in warning
    assert "all observations are the same" in warning
    mine = study.scenarios.inflow.hydro == 0
    assert set(study.scenarios.inflow.mean_m3s[mine].tolist()) == {33.0}
    assert not study.scenarios.inflow.std_m3s[mine].any()
    assert 0 not in study.scenarios.lags.hydro


def test_two_years_are_a_warning_and_have_no_lags(tmp_path):
    study, warnings = loaded(history_case(tmp_path / "case", river(2)))
    assert any("fewer than 30 observations, one only 2" in warning for warning in warnings)
    assert not len(study.scenarios.lags.lag)


def test_one_year_is_an_error(tmp_path):
    found = errors(history_case(tmp_path / "case", river(1)))
    assert {(error.kind, error.entity) for error in found} == {
        ("CoverageMismatch", "hydro 0 (UPPER)"),
        ("CoverageMismatch", "hydro 1 (LOWER)"),
    }


def test_the_least_number_of_observations_is_a_setting(tmp_path):
    _, warnings = loaded(history_case(tmp_path / "case", river(20), min_observations_per_season=15))
    assert not warnings


@pytest.mark.parametrize("days", [2_932_896, 2**31 - 1, -719_529], ids=["9999", "5881580", "before 1"])
@pytest.mark.parametrize("columns", [dated, windowed])
def test_a_date_that_no_calendar_has_is_an_error(tmp_path, columns, days):
    case = history_case(tmp_path / "case", columns=columns)
    field = "date" if columns is dated else "end_date"
    case.tables[HISTORY][field][719] = days
    (error,) = errors(case)
    assert (error.kind, error.file, error.field) == ("OutOfRange", HISTORY, field)
    assert "0001-01-01 to 9998-12-31" in error.remedy


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_value_that_is_no_number_is_an_error(tmp_path, value):
    case = history_case(tmp_path / "case")
    case.tables[HISTORY]["value_m3s"][17] = value
    found = errors(case)
    assert [(error.file, error.field) for error in found] == [(HISTORY, "value_m3s")]
    assert not any("inflow there is 0" in str(warning) for warning in validate(case.write()).warnings)


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_years_in_other_units_are_a_warning_that_names_them(tmp_path, factor):
    values = river(60)
    values[0, 240:288] *= factor
    _, warnings = loaded(history_case(tmp_path / "case", values))
    (warning,) = [each for each in warnings if "are the units right?" in each]
    assert "hydro 0 (UPPER): flows of 1981, 1982, 1983, 1984" in warning


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("months", [[77], [77, 78, 79]], ids=["one", "three"])
def test_single_records_in_other_units_are_a_warning_that_names_them(tmp_path, months, factor):
    values = river(60)
    values[0, months] *= factor
    _, warnings = loaded(history_case(tmp_path / "case", values))
    (warning,) = [each for each in warnings if "are the units right?" in each]
    assert "hydro 0 (UPPER): the flow of 1967-06" in warning


def test_a_very_wet_month_is_no_record_in_other_units(tmp_path):
    values = river(60)
    values[0, 77] *= 30.0
    assert not loaded(history_case(tmp_path / "case", values))[1]


def test_a_river_that_falls_dry_has_no_records_in_other_units(tmp_path):
    values = river(60)
    values[0, [65, 89]] = 0.0
    values[0, 77] *= 0.001
    assert not loaded(history_case(tmp_path / "case", values))[1]


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_the_second_of_two_years_in_other_units_is_named(tmp_path, factor):
    values = river(2)
    values[1, 12:] *= factor
    _, warnings = loaded(history_case(tmp_path / "case", values))
    (warning,) = [each for each in warnings if "are the units right?" in each]
    assert "hydro 1 (LOWER): flows of 1962 are around" in warning


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_a_whole_history_in_other_units_is_a_warning(tmp_path, factor):
    _, warnings = loaded(history_case(tmp_path / "case", river(60) * factor))
    assert any("are the units right?" in warning for warning in warnings)


def test_a_hydro_without_history_is_an_error(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[HISTORY] = dated(river(60)[:1], hydro_ids=(0,))
    (error,) = errors(case)
    assert (error.entity, error.message) == ("hydro 1 (LOWER)", "has no inflow history")


def test_a_hydro_with_statistics_and_no_history_is_white_noise(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[HISTORY] = dated(river(60)[:1], hydro_ids=(0,))
    std = river(60).reshape(2, -1, 12).std(axis=1)
    case.tables[STATS] = monthly(mean_m3s=100.0, std_m3s=std.ravel().tolist())
    study, _ = loaded(case)
    assert set(study.scenarios.lags.hydro.tolist()) == {0}


def test_lags_where_the_case_gives_no_deviation_are_an_error(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[STATS] = monthly(mean_m3s=100.0, std_m3s=0.0)
    found = errors(case)
    assert {(error.file, error.field) for error in found} == {(STATS, "std_m3s")}


def test_coefficients_where_the_history_does_not_vary_are_an_error(tmp_path):
    values = river(60)
    values[0] = 33.0
    case = history_case(tmp_path / "case", values)
    case.tables[LAGS] = {
        "hydro_id": [0], "stage_id": [4], "lag": [1], "coefficient": [0.5], "residual_std_ratio": [0.9]
    }  # fmt: skip
    (error,) = errors(case)
    assert (error.file, error.entity, error.value) == (LAGS, "hydro 0 (UPPER)", [4])


@pytest.mark.parametrize("ratio", [0.9, None])
def test_given_coefficients_that_do_not_settle_are_named_in_their_own_file(tmp_path, ratio):
    """As without a history: an error where the noise is to be derived, else a warning."""
    case = history_case(tmp_path / "case")
    case.tables[LAGS] = {
        "hydro_id": [0] * 12,
        "stage_id": list(range(12)),
        "lag": [1] * 12,
        "coefficient": [1.2] * 12,
        "residual_std_ratio": [ratio] * 12,
    }
    report = validate(case.write())
    (found,) = [each for each in (*report.errors, *report.warnings) if "not stationary" in each.message]
    assert report.valid is (ratio is not None)
    assert (found.file, found.entity, found.field) == (LAGS, "hydro 0 (UPPER)", "coefficient")


def test_a_fit_that_failed_says_nothing_about_lags_of_the_model(tmp_path):
    """The case asks for lags in the state; whether the model has some is not known."""
    report = validate(history_case(tmp_path / "case", river(60), max_order=100).write())
    assert [error.field for error in report.errors] == ["estimation.max_order"]
    assert not report.warnings


def test_records_after_the_start_of_the_study_are_a_warning(tmp_path):
    """The study begins in 2026."""
    _, warnings = loaded(history_case(tmp_path / "case", columns=partial(dated, first="1967-01")))
    found = [each for each in warnings if "after the start of the study" in each]
    assert ["12 records" in each and "until 2026-12-31" in each for each in found] == [True, True]
    assert "hydro 0 (UPPER)" in found[0]


def test_deviations_of_another_shape_than_the_history_s_are_a_warning(tmp_path):
    case = history_case(tmp_path / "case")
    std = river(60).reshape(2, -1, 12).std(axis=1)
    std[0, 6] *= 5.0
    case.tables[STATS] = monthly(mean_m3s=100.0, std_m3s=std.ravel().tolist())
    _, (warning,) = loaded(case)
    assert "towards stage 6, 7" in warning


def test_seasons_are_needed(tmp_path):
    case = history_case(tmp_path / "case")
    del case.documents["stages.json"]["season_definitions"]
    found = errors(case)
    assert any(error.field == "season_definitions" for error in found)


def test_a_stage_needs_its_season(tmp_path):
    case = history_case(tmp_path / "case")
    del case.documents["stages.json"]["stages"][4]["season_id"]
    assert any(error.entity == "stage 4" and "a fit" in error.message for error in errors(case))


def test_past_inflows_that_the_case_does_not_give_are_the_history_s(tmp_path):
    """The history reaches the start of the study: the months before it are known."""
    values = river(60)
    case = history_case(
        tmp_path / "case", values, partial(dated, first="1966-01"), order_selection="pacf_annual"
    )
    case.documents["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [100.0] * 3}]
    study, warnings = loaded(case)
    assert not [warning for warning in warnings if "past_inflows" in warning]
    first, second = study.initial.past_inflows
    assert first.values_m3s == (100.0, 100.0, 100.0, *values[0, :-3][:-10:-1].tolist())
    assert second.values_m3s == tuple(values[1][:-13:-1].tolist())


def test_unknown_past_inflows_count_as_zero_with_a_warning(tmp_path):
    case = history_case(tmp_path / "case", order_selection="pacf_annual")
    case.documents["initial_conditions.json"]["past_inflows"][0]["values_m3s"] = [100.0] * 3
    study, warnings = loaded(case)
    (warning,) = (warning for warning in warnings if "past_inflows" in warning)
    assert "past_inflows has 3 values, but its inflow model looks 12 stages back" in warning
    assert study.initial.past_inflows[0].values_m3s == (100.0, 100.0, 100.0)


def test_an_annual_component_given_with_a_fit_is_not_used(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables["scenarios/inflow_annual_component.parquet"] = {
        "hydro_id": [0],
        "stage_id": [0],
        "annual_coefficient": [0.3],
        "annual_mean_m3s": [90.0],
        "annual_std_m3s": [9.0],
    }
    study, (warning,) = loaded(case)
    assert "is not used" in warning
    assert study.scenarios.annual is None


def test_a_bootstrap_needs_a_history_and_years_that_all_plants_have(tmp_path):
    case = history_case(tmp_path / "case", residuals="bootstrap")
    study, warnings = loaded(case)
    assert not warnings
    assert study.scenarios.residuals.vectors[3].shape[1] == 2
    values = river(60)
    values[0, : 30 * 12] = np.nan
    values[1, 30 * 12 :] = np.nan
    (error,) = errors(history_case(tmp_path / "other" / "case", values, residuals="bootstrap"))
    assert error.field == "estimation.residuals"
    without = history_case(tmp_path / "third" / "case", residuals="bootstrap")
    del without.tables[HISTORY]
    assert "estimation.residuals" in {each.field for each in errors(without)}


def test_daily_records_become_months(tmp_path):
    """Every month's days are around its mean, so statistics are those of the monthly history."""
    rng = np.random.default_rng(9)
    values = river(35)
    days = np.arange(np.datetime64("1986-01-01"), np.datetime64("2021-01-01"))
    month = (days.astype("datetime64[M]") - np.datetime64("1986-01")).astype(int)
    noise = rng.normal(size=len(days))
    columns = {"hydro_id": [], "date": [], "value_m3s": []}
    for h in (0, 1):
        daily = values[h, month] * (1.0 + 0.01 * noise)
        columns["hydro_id"] += [h] * len(days)
        columns["date"] += days.astype(int).tolist()
        columns["value_m3s"] += daily.tolist()
    case = history_case(tmp_path / "case", values)
    monthly, _ = loaded(case)
    other = history_case(tmp_path / "other" / "case", values)
    other.tables[HISTORY] = columns
    daily_study, warnings = loaded(other)
    assert not warnings
    ours = daily_study.scenarios.inflow.mean_m3s
    assert np.allclose(ours, monthly.scenarios.inflow.mean_m3s, rtol=0.005)


def test_the_remedy_for_a_column_in_other_units_converts_it(tmp_path):
    case = history_case(tmp_path)
    case.tables[HISTORY]["value_hm3"] = case.tables[HISTORY].pop("value_m3s")
    (error,) = cobre.validate(case.write()).errors
    assert error.remedy == "convert value_hm3 from hm3 to m3s and name the column value_m3s"


def test_training_reports_the_warnings_of_the_fit(tmp_path):
    values = river(60)
    values[0, 17] = -3.0
    folder = history_case(tmp_path, values).write()
    notes = []
    short = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 1}]}}
    trained = cobre.train(folder, config_overrides=short, on_note=notes.append)
    assert [note for note in notes if "negative" in note]
    assert all(note.startswith("warning: ") for note in notes)
    simulated = []
    cobre.simulate(folder, trained.policy, config_overrides=short, scenarios=1, on_note=simulated.append)
    assert simulated == notes
