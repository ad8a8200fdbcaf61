"""A case with a history and no inflow model gets one, and each doubtful history its word."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import cobre
from cobre.core.digest import digest
from cobre.io import load_with_report
from cobre.io.loading import validate
from cobre.stochastic import InflowModel
from history_cases import CORRELATION, HISTORY, LAGS, STATS, dated, history_case, windowed
from inflow_records import river


def loaded(case):
    study, report = load_with_report(case.write())
    return study, [str(warning) for warning in report.warnings]


def errors(case):
    return validate(case.write()).errors


def test_a_history_alone_becomes_statistics_coefficients_and_correlation(tmp_path):
    study, warnings = loaded(history_case(tmp_path / "case"))
    assert not warnings
    found = study.scenarios
    assert set(zip(found.inflow.hydro.tolist(), found.inflow.stage_id.tolist(), strict=True)) >= {
        (h, stage) for h in (0, 1) for stage in range(12)
    }
    assert found.lags.lag.max() >= 1
    assert found.correlation.profile_of_stage == {t: f"season_{t:02d}" for t in range(12)}
    values = river(60)[0, 0::12]
    january = found.inflow.mean_m3s[(found.inflow.hydro == 0) & (found.inflow.stage_id == 0)]
    assert january.tolist() == pytest.approx([values.mean()])


def test_dates_and_windows_give_the_same_bits(tmp_path):
    one, _ = loaded(history_case(tmp_path / "one" / "case"))
    other, _ = loaded(history_case(tmp_path / "two" / "case", columns=windowed))
    assert digest(one) == digest(other)


def test_unsorted_rows_give_the_same_bits(tmp_path):
    case = history_case(tmp_path / "one" / "case")
    sorted_one, _ = loaded(case)
    order = np.random.default_rng(1).permutation(len(case.tables[HISTORY]["date"]))
    other = history_case(tmp_path / "two" / "case")
    other.tables[HISTORY] = {
        name: [values[i] for i in order] for name, values in case.tables[HISTORY].items()
    }
    assert digest(loaded(other)[0]) == digest(sorted_one)


def test_a_study_of_three_months_knows_the_months_before_it(tmp_path):
    """Lags of January look at December and November, which no stage has."""
    case = history_case(tmp_path / "short" / "case")
    whole, _ = loaded(history_case(tmp_path / "whole" / "case"))
    case.documents["stages.json"]["stages"] = case.documents["stages.json"]["stages"][:3]
    for name in ("scenarios/load_seasonal_stats.parquet", "scenarios/non_controllable_stats.parquet"):
        keep = [row for row, stage in enumerate(case.tables[name]["stage_id"]) if stage < 3]
        case.tables[name] = {key: [column[i] for i in keep] for key, column in case.tables[name].items()}
    factors = case.documents["scenarios/load_factors.json"]["load_factors"]
    case.documents["scenarios/load_factors.json"]["load_factors"] = [f for f in factors if f["stage_id"] < 3]
    del case.tables["constraints/hydro_bounds.parquet"]
    study, warnings = loaded(case)
    assert not warnings, "the fit needs seasons that no stage has"
    models = [
        InflowModel.build(each.horizon.stages, 2, each.scenarios.inflow, each.scenarios.lags)
        for each in (study, whole)
    ]
    n_lags = models[0].n_lags
    assert n_lags >= 1
    for name in ("psi", "sigma", "base"):
        short, long = (getattr(model, name)[:3] for model in models)
        assert np.array_equal(short, long[:, :n_lags] if name == "psi" else long)


@pytest.mark.parametrize("selection", ["pacf", "pacf_annual", "aic", "bic"])
def test_files_written_from_a_fit_make_the_same_study(tmp_path, selection):
    """Whoever copies the fitted tables into the case trains the same policy."""
    case = history_case(tmp_path / "case", order_selection=selection)
    fitted, _ = loaded(case)
    given = history_case(tmp_path / "given" / "case", order_selection=selection)
    rows = fitted.scenarios
    given.tables[STATS] = {
        "hydro_id": rows.inflow.hydro.tolist(),
        "stage_id": rows.inflow.stage_id.tolist(),
        "mean_m3s": rows.inflow.mean_m3s.tolist(),
        "std_m3s": rows.inflow.std_m3s.tolist(),
    }
    given.tables[LAGS] = {
        "hydro_id": rows.lags.hydro.tolist(),
        "stage_id": rows.lags.stage_id.tolist(),
        "lag": rows.lags.lag.tolist(),
        "coefficient": rows.lags.coefficient.tolist(),
        "residual_std_ratio": rows.lags.residual_std_ratio.tolist(),
    }
    if rows.annual is not None:
        given.tables["scenarios/inflow_annual_component.parquet"] = {
            "hydro_id": rows.annual.hydro.tolist(),
            "stage_id": rows.annual.stage_id.tolist(),
            "annual_coefficient": rows.annual.coefficient.tolist(),
            "annual_mean_m3s": rows.annual.mean_m3s.tolist(),
            "annual_std_m3s": rows.annual.std_m3s.tolist(),
        }
    again, _ = loaded(given)
    assert (selection == "pacf_annual") is (rows.annual is not None)
    for name in ("inflow", "lags", "annual"):
        assert digest(getattr(again.scenarios, name)) == digest(getattr(rows, name))


def test_statistics_of_the_case_stay_beside_fitted_coefficients(tmp_path):
    case = history_case(tmp_path / "case")
    values = river(60).reshape(2, -1, 12)
    case.tables[STATS] = {
        "hydro_id": [h for h in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "mean_m3s": [500.0] * 24,
        "std_m3s": (1.5 * values.std(axis=1)).ravel().tolist(),
    }
    study, warnings = loaded(case)
    assert not warnings
    assert set(study.scenarios.inflow.mean_m3s.tolist()) == {500.0}
    fitted, _ = loaded(history_case(tmp_path / "other" / "case"))
    assert study.scenarios.lags.coefficient.tolist() == fitted.scenarios.lags.coefficient.tolist()


def test_coefficients_of_the_case_stay_beside_fitted_statistics(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[LAGS] = {
        "hydro_id": [h for h in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "lag": [1] * 24,
        "coefficient": [0.5] * 24,
        "residual_std_ratio": [0.9] * 24,
    }
    study, warnings = loaded(case)
    assert not warnings
    assert set(study.scenarios.lags.coefficient.tolist()) == {0.5}
    assert set(study.scenarios.lags.residual_std_ratio.tolist()) == {0.9}
    assert len(study.scenarios.inflow.mean_m3s) >= 24


def test_a_given_correlation_stays(tmp_path):
    case = history_case(tmp_path / "case")
    matrix = [[1.0, 0.25], [0.25, 1.0]]
    group = {
        "name": "river",
        "entities": [{"type": "inflow", "id": 0}, {"type": "inflow", "id": 1}],
        "matrix": matrix,
    }
    case.documents[CORRELATION] = {
        "method": "spectral",
        "profiles": {"default": {"correlation_groups": [group]}},
    }
    study, _ = loaded(case)
    assert study.scenarios.correlation.profiles["default"][0].matrix == ((1.0, 0.25), (0.25, 1.0))


def test_a_case_with_a_history_trains_with_the_same_bits_each_time(tmp_path):
    folder = history_case(tmp_path / "case").write()
    short = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    first, second = (cobre.train(folder, config_overrides=short) for _ in range(2))
    assert first.final_lower_bound == second.final_lower_bound > 0.0
    assert first.policy == second.policy


def test_inflows_that_may_be_negative_all_the_same_are_named(tmp_path):
    """Means that fall faster than deviations: the lags alone give more than the mean."""
    values = river(60)
    case = history_case(tmp_path / "case", values, residuals="lognormal_nonnegative", max_order=1)
    assert not loaded(case)[1]
    values[0, 3::12] = 2.0 + 0.2 * values[0, 3::12]
    values[0, 2::12] = 2.0 * values[0, 2::12].mean() + 0.5 * values[0, 2::12]
    case = history_case(tmp_path / "other" / "case", values, residuals="lognormal_nonnegative", max_order=1)
    (warning,) = (each for each in loaded(case)[1] if "may be negative" in each)
    assert "hydro 0" in warning
    assert "stage 3 " in warning


@pytest.mark.parametrize("kind", ["lognormal", "bootstrap"])
def test_other_residuals_give_another_policy_with_the_same_model(tmp_path, kind):
    short = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    normal = cobre.train(history_case(tmp_path / "one" / "case").write(), config_overrides=short)
    folder = history_case(tmp_path / "two" / "case", residuals=kind).write()
    alone = cobre.train(folder, config_overrides=short)
    together = cobre.train(folder, num_workers=2, config_overrides=short)
    assert alone.policy == together.policy
    assert alone.policy != normal.policy


# What is wrong with a history, and the word for it.


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


@pytest.mark.parametrize("months", [[77], [77, 78, 79]], ids=["one", "three"])
def test_single_records_in_other_units_are_a_warning_that_names_them(tmp_path, months):
    values = river(60)
    values[0, months] *= 1000.0
    _, warnings = loaded(history_case(tmp_path / "case", values))
    (warning,) = [each for each in warnings if "are the units right?" in each]
    assert "hydro 0 (UPPER): the flow of 1967-06" in warning


def test_a_very_wet_month_is_no_record_in_other_units(tmp_path):
    values = river(60)
    values[0, 77] *= 30.0
    assert not loaded(history_case(tmp_path / "case", values))[1]


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
    case.tables[STATS] = {
        "hydro_id": [h for h in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "mean_m3s": [100.0] * 24,
        "std_m3s": std.ravel().tolist(),
    }
    study, _ = loaded(case)
    assert set(study.scenarios.lags.hydro.tolist()) == {0}


def test_lags_where_the_case_gives_no_deviation_are_an_error(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[STATS] = {
        "hydro_id": [h for h in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "mean_m3s": [100.0] * 24,
        "std_m3s": [0.0] * 24,
    }
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
    case.tables[STATS] = {
        "hydro_id": [h for h in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "mean_m3s": [100.0] * 24,
        "std_m3s": std.ravel().tolist(),
    }
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


def test_past_inflows_that_nobody_knows_count_as_zero_with_a_warning(tmp_path):
    case = history_case(tmp_path / "case", order_selection="pacf_annual")
    case.documents["initial_conditions.json"]["past_inflows"][0]["values_m3s"] = [100.0] * 3
    study, warnings = loaded(case)
    (warning,) = (warning for warning in warnings if "past_inflows" in warning)
    assert "past_inflows has 3 values, but its inflow model looks 12 stages back" in warning
    assert study.initial.past_inflows[0].values_m3s == (100.0, 100.0, 100.0)


def test_an_annual_component_beside_a_fit_is_not_used(tmp_path):
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


def test_a_column_in_other_units_is_not_just_to_be_renamed(tmp_path):
    case = history_case(tmp_path)
    case.tables[HISTORY]["value_hm3"] = case.tables[HISTORY].pop("value_m3s")
    (error,) = cobre.validate(case.write()).errors
    assert error.remedy == "convert value_hm3 from hm3 to m3s and name the column value_m3s"


def test_training_tells_the_warnings_of_the_fit(tmp_path):
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
