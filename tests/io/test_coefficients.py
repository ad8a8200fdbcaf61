"""Coefficients without ratios get the noise that keeps every deviation; those that do not settle are named."""

from __future__ import annotations

import numpy as np
import pytest

from case_folders import example_case
from cobre.io import load_with_report
from cobre.io.loading import validate
from cobre.stochastic.fitting.closure import close
from history_cases import LAGS, STATS, history_case, monthly


def with_coefficients(path, coefficient, ratio=None):
    """The example study with the coefficient in all months; without a column of ratios unless one is given."""
    case = example_case(path)
    case.tables[LAGS] = monthly(lag=1, coefficient=coefficient)
    if ratio is not None:
        case.tables[LAGS]["residual_std_ratio"] = [ratio] * 24
    return case


def test_a_ratio_that_is_missing_is_derived(tmp_path):
    study, report = load_with_report(with_coefficients(tmp_path / "case", 0.5).write())
    assert not report.warnings
    assert study.scenarios.lags.residual_std_ratio.tolist() == pytest.approx([0.75**0.5] * 24, rel=1e-13)


def test_a_ratio_that_is_null_is_derived_from_all_seasons(tmp_path):
    case = with_coefficients(tmp_path / "case", 0.5, 0.8)
    case.tables[LAGS]["coefficient"][:12] = np.linspace(0.1, 0.7, 12).tolist()
    case.tables[LAGS]["residual_std_ratio"][:12] = [None] * 12
    study, _ = load_with_report(case.write())
    expected = close(np.linspace(0.1, 0.7, 12).reshape(1, 12, 1)).ratio[0]
    assert study.scenarios.lags.residual_std_ratio[:12].tolist() == expected.tolist()
    assert study.scenarios.lags.residual_std_ratio[12:].tolist() == [0.8] * 12


def test_a_given_ratio_stays(tmp_path):
    study, report = load_with_report(with_coefficients(tmp_path / "case", 0.5, 0.6).write())
    assert not report.warnings
    assert set(study.scenarios.lags.residual_std_ratio.tolist()) == {0.6}


def test_coefficients_that_do_not_settle_are_an_error_without_and_a_warning_with_a_ratio(tmp_path):
    found = validate(with_coefficients(tmp_path / "one", 1.2).write()).errors
    assert [(error.file, error.entity, error.field) for error in found] == [
        (LAGS, "hydro 0 (UPPER)", "coefficient"),
        (LAGS, "hydro 1 (LOWER)", "coefficient"),
    ]
    assert "not stationary" in found[0].message
    report = validate(with_coefficients(tmp_path / "two", 1.2, 0.9).write())
    assert report.valid
    assert ["not stationary" in warning.message for warning in report.warnings] == [True, True]


def test_coefficients_without_statistics_are_an_error(tmp_path):
    case = with_coefficients(tmp_path / "case", 0.5, 0.9)
    del case.tables[STATS]
    assert LAGS in {error.file for error in validate(case.write()).errors}


def test_ratios_are_derived_also_where_only_the_statistics_are_fitted(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[LAGS] = with_coefficients(tmp_path / "other", 0.5).tables[LAGS]
    study, report = load_with_report(case.write())
    assert not report.warnings
    assert study.scenarios.lags.residual_std_ratio.tolist() == pytest.approx([0.75**0.5] * 24, rel=1e-13)
