"""Each rule of the public Cobre 0.18 that has a number: the case that breaks it is told by that number."""

from __future__ import annotations

import pytest

import cobre
from format_018 import rule_cases, rule_cases_of_data, rule_cases_of_time
from format_018.rule_cases import sound_case

CASES = (rule_cases, rule_cases_of_data, rule_cases_of_time)
ERRORS = [(name, change) for each in CASES for name, change in each.ERRORS.items()]
WARNINGS = [(name, change) for each in CASES for name, change in each.WARNINGS.items()]


def called(change) -> str:
    return change if isinstance(change, str) else ""


def findings(case, folder) -> tuple[set[str], set[str]]:
    report = cobre.validate(case.write(folder / "case"))
    return {each.rule for each in report.errors}, {each.rule for each in report.warnings}


def findings_after(change, folder) -> tuple[set[str], set[str]]:
    case = sound_case()
    change(case)
    return findings(case, folder)


def test_a_sound_case_breaks_no_rule(tmp_path):
    errors, warnings = findings(sound_case(), tmp_path)
    assert not errors
    assert warnings <= {
        "5b.30",
        "stages.blocks.hours.StageMismatch",
    }


def test_lags_without_a_season_to_start_from(tmp_path):
    errors, warnings = findings_after(rule_cases_of_data.a_first_day_without_season, tmp_path)
    assert "5a.34" in warnings
    assert "5b.35.1" in errors


def test_a_file_that_is_no_json(tmp_path):
    folder = sound_case().write(tmp_path / "case")
    (folder / "stages.json").write_text("{,")
    assert [error.rule for error in cobre.validate(folder).errors] == ["schema.2"]


@pytest.mark.parametrize(("name", "change"), ERRORS, ids=called)
def test_a_broken_rule_is_an_error_with_its_number(name, change, tmp_path):
    errors, _ = findings_after(change, tmp_path)
    assert name.split()[0] in errors


@pytest.mark.parametrize(("name", "change"), WARNINGS, ids=called)
def test_a_doubtful_choice_is_a_warning_with_its_number(name, change, tmp_path):
    errors, warnings = findings_after(change, tmp_path)
    assert name.split()[0] in warnings
    assert not errors


def _a_season_that_is_missing(case):
    rule_cases.with_lags(case)
    case.documents["stages.json"]["stages"][1]["season_id"] = 77


def _a_lag_out_of_reach(case):
    rule_cases.with_lags(case)
    case.tables["scenarios/inflow_ar_coefficients.parquet"][0]["lag"] = 99_999


def _limits_of_a_thermal_that_is_missing(case):
    rule_cases_of_time.one_stage_ahead(case)
    row = {"thermal_id": 77, "stage_id": 0, "block_id": None, "max_generation_mw": 5.0, "cost_per_mwh": None}
    case.tables["constraints/thermal_bounds.parquet"] = [row]


@pytest.mark.parametrize(
    ("change", "file", "field"),
    [
        pytest.param(_a_season_that_is_missing, "stages.json", "season_id", id="season"),
        pytest.param(_a_lag_out_of_reach, "scenarios/inflow_ar_coefficients.parquet", "lag", id="lag"),
        pytest.param(
            _limits_of_a_thermal_that_is_missing,
            "constraints/thermal_bounds.parquet",
            "thermal_id",
            id="thermal",
        ),
    ],
)
def test_data_that_later_checks_need_are_reported_alone(tmp_path, change, file, field):
    case = sound_case()
    change(case)
    errors = cobre.validate(case.write(tmp_path / "case")).errors
    assert {(error.file, error.field) for error in errors} == {(file, field)}
