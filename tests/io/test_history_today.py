"""Histories of 0.18: records with a first and a last day, and lags that start from recent observations."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cobre
from cobre.io.examples import write_example
from history_cases import HISTORY, LAGS, dated, history_018, windowed, write_history
from inflow_records import river


def without_observations(documents):
    documents["initial_conditions.json"]["recent_observations"] = []


def pumped(documents):
    """The upper reservoir gets its water from below, and has hardly any of its own."""
    without_observations(documents)
    documents["system/pumping_stations.json"] = {
        "pumping_stations": [
            {
                "id": 0,
                "name": "LIFT",
                "operational_start_date": "2020-01-01",
                "bus_id": 0,
                "source_hydro_id": 1,
                "destination_hydro_id": 0,
                "consumption_mw_per_m3s": 0.8,
                "flow": {"min_m3s": 0.0, "max_m3s": 400.0},
            }
        ]
    }


def about_units(folder):
    report = cobre.validate(folder)
    assert report.valid
    return [str(warning) for warning in report.warnings if "are the units right?" in warning.message]


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("hydro", [0, 1])
def test_a_plant_in_other_units_than_its_recent_observations_is_named(tmp_path, hydro, factor):
    values = river(60)
    values[hydro] *= factor
    (warning,) = about_units(history_018(tmp_path / "case", values))
    assert f"hydro {hydro} (" in warning


def test_turbines_that_the_water_from_above_could_never_fill_are_named(tmp_path):
    values = river(60)
    values[0] *= 0.001
    (warning,) = about_units(history_018(tmp_path / "one", values, change=without_observations))
    assert "hydro 0 (UPPER): its median inflow is 0.0513953 m3/s, but its turbines take up to 460" in warning
    values[:] = river(60)
    values[1] *= 0.001  # the lower plant has the water of the upper one
    assert not about_units(history_018(tmp_path / "two", values, change=without_observations))
    values[:] = river(60)
    values[0] *= 0.001
    assert not about_units(history_018(tmp_path / "three", values, change=pumped))


def test_a_plant_with_twenty_times_the_water_of_its_turbines_is_named(tmp_path):
    """Turbines of much more than the plant's own water, as below other plants, hide a factor of a thousand."""
    values = river(60)
    values[1] *= 0.2 * 1000.0
    (warning,) = about_units(history_018(tmp_path / "case", values, change=without_observations))
    assert "hydro 1 (LOWER): its median of 21070.9 m3/s is 32.92 times what its turbines can take" in warning


def test_the_dates_of_0_5_1_are_refused_by_their_name_alone(tmp_path):
    (error,) = cobre.validate(history_018(tmp_path / "case", columns=dated)).errors
    assert (error.file, error.field) == (HISTORY, "date")
    assert "is of 0.5.1" in error.message
    assert error.remedy.startswith("write start_date and end_date")


def test_a_history_that_cannot_be_used_says_nothing_about_observations(tmp_path):
    """Whether they are used depends on the lags, which are not known."""
    report = cobre.validate(history_018(tmp_path / "case", columns=dated))
    assert not report.warnings


def test_a_gap_where_the_first_lags_look_is_an_error_and_before_them_a_warning(tmp_path):
    for name, month, is_valid in (("late", -1, False), ("early", -11, True)):
        values = river(60)
        values[1, month] = np.nan
        report = cobre.validate(history_018(tmp_path / name, values, change=without_observations))
        assert report.valid is is_valid
        problems = [str(each) for each in (*report.errors, *report.warnings)]
        assert any("hydro 1" in each and f"2025-{13 + month:02d}" in each for each in problems)


def test_records_that_name_their_last_day_are_refused_with_the_meaning_of_end_date(tmp_path):
    def inclusive(values, first):
        columns = windowed(values, first)
        return {**columns, "end_date": [day - 1 for day in columns["end_date"]]}

    report = cobre.validate(history_018(tmp_path / "case", columns=inclusive))
    assert [(error.entity, error.field) for error in report.errors] == [
        ("hydro 0 (UPPER)", "end_date"),
        ("hydro 1 (LOWER)", "end_date"),
    ]
    assert "of 1966-01 they have 97 %" in report.errors[0].message
    (warning,) = report.warnings
    assert "1438 of 1440 records end one day before the next one begins" in warning.message


@pytest.mark.parametrize(("days", "field"), [(10, "start_date"), (-31, "end_date")], ids=["overlap", "empty"])
def test_windows_are_checked_where_the_model_is_given_and_only_lags_read_them(tmp_path, days, field):
    columns = windowed(river(60), "1966-01")
    columns["end_date"][0] += days
    folder = tmp_path / "case"
    write_example(folder)
    write_history(folder, columns)
    assert [error.field for error in cobre.validate(folder).errors] == [field]


def test_four_years_train_with_the_lags_that_settle(tmp_path):
    folder = history_018(tmp_path / "case", river(4, seed=1), "2022-01")
    report = cobre.validate(folder)
    assert report.valid
    assert any("too few for its lags" in warning.message for warning in report.warnings)
    short = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 1}]}}
    assert cobre.train(folder, config_overrides=short).final_lower_bound > 0.0


def test_a_history_that_ends_before_the_study_is_fitted_though_training_needs_the_days_between(tmp_path):
    folder = history_018(tmp_path / "case", first="1960-01")
    assert not cobre.validate(folder).valid
    result = cobre.fit(folder, n_series=0)
    told = [str(each) for each in result.report.warnings]
    assert any("days are not known; training refuses that" in each for each in told)
    assert all("days are not known" in each for each in told)
    assert result.report.valid


def test_files_of_a_fit_make_the_same_study_without_a_word_about_coefficients(tmp_path):
    folder = history_018(tmp_path / "case")
    before = cobre.load_case(folder).scenarios.lags
    cobre.fit(folder, output=folder / "scenarios", n_series=0)
    (folder / "scenarios/fitting_report.json").unlink()
    report = cobre.validate(folder)
    assert report.valid
    assert not [each for each in report.warnings if each.file == LAGS]
    after = cobre.load_case(folder).scenarios.lags
    assert after.coefficient.tobytes() == before.coefficient.tobytes()
    assert after.residual_std_ratio.tobytes() == before.residual_std_ratio.tobytes()


@pytest.mark.parametrize("selection", ["pacf", "pacf_annual"])
def test_files_of_a_fit_of_four_months_keep_the_noise_with_the_other_months_before_the_study(
    tmp_path, selection
):
    """The ratio of January follows from coefficients of December, which no stage of the study has."""

    def change(documents):
        stages = documents["stages.json"]
        stages["stages"] = stages["stages"][:4]
        stages["pre_study_stages"] = [
            {
                "id": -back,
                "start_date": f"2025-{13 - back:02d}-01",
                "end_date": f"2025-{14 - back:02d}-01" if back > 1 else "2026-01-01",
                "season_id": 12 - back,
            }
            for back in range(8, 0, -1)
        ]
        documents["config.json"]["estimation"] = {"order_selection": selection}

    folder = history_018(tmp_path / "case", river(60, seed=6), change=change)
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path)
        if "stage_id" in table.column_names:
            pq.write_table(table.filter(pc.less(table["stage_id"], 4)), path)
    factors = json.loads((folder / "scenarios/load_factors.json").read_text())
    factors["load_factors"] = [each for each in factors["load_factors"] if each["stage_id"] < 4]
    (folder / "scenarios/load_factors.json").write_text(json.dumps(factors))
    fit = cobre.fit(folder, n_series=0, output=folder / "scenarios")
    assert max(fit.orders[0][:4]) > 1
    (folder / "scenarios/fitting_report.json").unlink()
    lags = cobre.load_case(folder).scenarios.lags
    first = lags.stage_id == 0
    level = fit.fit.levels[0]
    for hydro in (0, 1):
        (ratio,) = set(lags.residual_std_ratio[first & (lags.hydro == hydro)].tolist())
        assert ratio == pytest.approx(level.ratio[hydro, 0], rel=1e-12)
