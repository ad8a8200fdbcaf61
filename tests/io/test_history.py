"""A case with a history and no inflow model gets one, and each doubtful history its word."""

from __future__ import annotations

import numpy as np
import pytest

import cobre
from cobre.core.digest import digest
from cobre.stochastic import InflowModel
from history_cases import CORRELATION, HISTORY, LAGS, STATS, history_case, loaded, monthly, windowed
from inflow_records import river


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


def test_a_study_of_three_months_gets_statistics_of_the_months_before_it(tmp_path):
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


def test_statistics_of_the_case_are_kept_with_fitted_coefficients(tmp_path):
    case = history_case(tmp_path / "case")
    values = river(60).reshape(2, -1, 12)
    case.tables[STATS] = monthly(mean_m3s=500.0, std_m3s=(1.5 * values.std(axis=1)).ravel().tolist())
    study, warnings = loaded(case)
    assert not warnings
    assert set(study.scenarios.inflow.mean_m3s.tolist()) == {500.0}
    fitted, _ = loaded(history_case(tmp_path / "other" / "case"))
    assert study.scenarios.lags.coefficient.tolist() == fitted.scenarios.lags.coefficient.tolist()


def test_coefficients_of_the_case_are_kept_with_fitted_statistics(tmp_path):
    case = history_case(tmp_path / "case")
    case.tables[LAGS] = monthly(lag=1, coefficient=0.5, residual_std_ratio=0.9)
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
