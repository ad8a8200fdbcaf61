"""Stages of several lengths in one study: weeks then months, months then quarters, with lags."""

from __future__ import annotations

import numpy as np
import pytest

import cobre
from history_cases import HISTORY, LAGS, STATS, dated
from inflow_records import river
from resolution_cases import MONTHS, reservoir_case, stage, with_load, with_openings
from sddp.trained import bounds, optimum

TWO, ONE = [-1.0, 1.0], [0.3]


def months_then_quarters(path):
    stages = [
        stage(0, "2025-01-01", "2025-02-01", 0),
        stage(1, "2025-02-01", "2025-03-01", 1, 2),
        stage(2, "2025-03-01", "2025-04-01", 2, 2),
        stage(3, "2025-04-01", "2025-07-01", 13, 2),
        stage(4, "2025-07-01", "2025-10-01", 14),
        stage(5, "2025-10-01", "2026-01-01", 15, 2),
        stage(6, "2026-01-01", "2026-04-01", 12),
    ]
    statistics = {
        -1: (34.0, 9.0),
        0: (35.0, 8.0),
        1: (33.0, 7.5),
        2: (31.0, 7.0),
        3: (24.0, 5.0),
        4: (20.0, 4.0),
        5: (26.0, 5.5),
        6: (33.0, 6.0),
    }
    case = reservoir_case(path, stages, statistics, past=[41.0])
    with_load(case, [70.0, 74.0, 68.0, 72.0, 69.0, 76.0, 71.0])
    return with_openings(case, [ONE, TWO, TWO, TWO, ONE, TWO, ONE])


def test_months_then_quarters_reach_the_exact_optimum(tmp_path):
    """Computed independently as one linear program over the whole tree, lags handed over before the first quarter."""
    folder = months_then_quarters(tmp_path).write()
    assert cobre.validate(folder).valid
    result = cobre.train(folder)
    assert result.final_lower_bound == pytest.approx(27414645.267074086, rel=1e-6)
    assert optimum(cobre.load_case(folder)) == pytest.approx(27414645.267074086, rel=1e-9)


def test_the_lag_of_a_quarter_has_the_statistics_of_the_quarter_before(tmp_path):
    """Of the first quarter of 2026: the stages before the second quarter of 2025 are months."""
    from cobre.sddp.nature import Nature

    model = Nature.of(cobre.load_case(months_then_quarters(tmp_path).write())).inflow
    assert model.psi[3, 0, 0] == pytest.approx(0.5 * 5.0 / 6.0)
    assert model.base[3, 0] == pytest.approx(24.0 - 0.5 * 5.0 / 6.0 * 33.0)
    assert model.psi[4, 0, 0] == pytest.approx(0.5 * 4.0 / 5.0)


def test_a_february_may_end_on_its_29th(tmp_path):
    case = months_then_quarters(tmp_path)
    definitions = case.documents["stages.json"]["season_definitions"]
    january, february, *others = definitions["seasons"]
    definitions["seasons"] = [january, {**february, "day_end": 29}, *others]
    assert optimum(cobre.load_case(case.write())) == pytest.approx(27414645.267074086, rel=1e-9)
    definitions["seasons"][1]["day_start"] = 29
    (error,) = cobre.validate(case.write()).errors
    assert (error.field, error.value) == ("day_start", 29)


@pytest.mark.parametrize("is_fitted", [False, True])
def test_the_quarter_before_the_first_one_may_be_a_stage_before_the_study(tmp_path, is_fitted):
    """Without the first quarter of 2026 no stage of the study has the season that the second quarter goes on from."""
    from cobre.sddp.nature import Nature

    case = months_then_quarters(tmp_path)
    document = case.documents["stages.json"]
    del document["stages"][6]
    for name, table in case.tables.items():
        kept = [row for row, stage in enumerate(table["stage_id"]) if stage != 6]
        case.tables[name] = {key: [values[row] for row in kept] for key, values in table.items()}
    if is_fitted:
        del case.tables[STATS], case.tables[LAGS]
        case.tables[HISTORY] = dated(river(60, 1), "1965-01", hydro_ids=(0,))
    (warning,) = (each for each in cobre.validate(case.write()).warnings if "no deviation" in each.message)
    assert (warning.entity, warning.field, warning.value) == ("stage 3", "season_id", 12)
    assert "lag 1 of hydro 0" in warning.message
    assert "a stage with season_id 12 and an id below -1 to pre_study_stages" in warning.remedy
    document["pre_study_stages"] = [
        {"id": -9, "start_date": "2024-01-01", "end_date": "2024-04-01", "season_id": 12}
    ]
    if not is_fitted:
        for name, value in {"hydro_id": 0, "stage_id": -9, "mean_m3s": 33.0, "std_m3s": 6.0}.items():
            case.tables[STATS][name] = [*case.tables[STATS][name], value]
    report = cobre.validate(case.write())
    assert report.valid
    assert not [each for each in report.warnings if "no deviation" in each.message]
    model = Nature.of(cobre.load_case(tmp_path)).inflow
    if is_fitted:
        assert model.psi[3, 0, 0] > 0.0
    else:
        assert model.psi[3, 0, 0] == pytest.approx(0.5 * 5.0 / 6.0)
        assert model.base[3, 0] == pytest.approx(24.0 - 0.5 * 5.0 / 6.0 * 33.0)


def weeks_then_months(path, last_week_end="2026-05-02", **more):
    """Weeks of April from the 4th on and then May and June; a week of observations before."""
    starts = ["2026-04-04", "2026-04-11", "2026-04-18", "2026-04-25", last_week_end]
    weeks = [stage(i, starts[i], starts[i + 1], 3, 2 if i in (1, 3) else 1) for i in range(4)]
    stages = [*weeks, stage(4, last_week_end, "2026-06-01", 4, 2), stage(5, "2026-06-01", "2026-07-01", 5, 2)]
    statistics = dict.fromkeys(range(-1, 4), (30.0, 9.0)) | {4: (26.0, 7.0), 5: (22.0, 6.0)}
    case = reservoir_case(path, stages, statistics, past=[50.0], cycle="monthly", seasons=MONTHS, **more)
    case.documents["initial_conditions.json"]["recent_observations"] = [
        {"hydro_id": 0, "start_date": "2026-03-28", "end_date": "2026-04-04", "value_m3s": 55.0}
    ]
    with_load(case, [70.0, 74.0, 68.0, 72.0, 69.0, 76.0])
    return with_openings(case, [ONE, TWO, ONE, TWO, TWO, TWO])


def test_weeks_then_months_with_observations_reach_the_optimum_of_their_tree(tmp_path):
    folder = weeks_then_months(tmp_path).write()
    assert cobre.validate(folder).valid
    case = cobre.load_case(folder)
    expected = optimum(case)
    result = cobre.train(folder)
    assert result.policy.state_dimension == 3  # storage, lag and the mean of April so far
    assert result.final_lower_bound == pytest.approx(expected, rel=1e-6)
    assert max(bounds(result)) <= expected * (1 + 1e-8)


def test_observations_of_the_month_under_way_change_the_optimum(tmp_path):
    with_them = weeks_then_months(tmp_path / "with")
    without = weeks_then_months(tmp_path / "without")
    del without.documents["initial_conditions.json"]["recent_observations"]
    found = [optimum(cobre.load_case(case.write())) for case in (with_them, without)]
    assert found[0] < found[1] * (1 - 1e-4), "a wet start of April makes a wet May"


@pytest.mark.parametrize("has_seasons", [True, False])
def test_weeks_that_reach_into_the_next_month_train_with_a_note(tmp_path, has_seasons):
    """The public weekly and monthly example: weeks until 9 May, all of May, inflows of the month from a file."""
    starts = ["2026-04-04", "2026-04-11", "2026-04-18", "2026-04-25", "2026-05-02", "2026-05-09"]
    weeks = [stage(i, starts[i], starts[i + 1], 3) for i in range(5)]
    stages = [*weeks, stage(5, "2026-05-01", "2026-06-01", 4, 5)]
    case = reservoir_case(
        tmp_path, stages, dict.fromkeys(range(6), (40.0, 8.0)), cycle="monthly", seasons=MONTHS
    )
    del case.tables["scenarios/inflow_ar_coefficients.parquet"]
    for each in stages:
        each["state_variables"] = {"storage": True, "inflow_lags": False}
        if not has_seasons:
            del each["season_id"]
    counts = [1] * 5 + [5]
    case.tables["scenarios/external_inflow_scenarios.parquet"] = {
        "stage_id": [t for t, n in enumerate(counts) for _ in range(n)],
        "scenario_id": [k for n in counts for k in range(n)],
        "hydro_id": [0] * 10,
        "value_m3s": [50.0, 45.0, 42.0, 40.0, 41.0, 30.0, 35.0, 40.0, 45.0, 50.0],
    }
    case.documents["config.json"]["training"]["scenario_source"] = {
        "seed": 42,
        "inflow": {"scheme": "external"},
    }
    with_load(case, [70.0] * 6)
    folder = case.write()
    report = cobre.validate(folder)
    assert report.valid, report.errors
    assert [warning.entity for warning in report.warnings if warning.field == "start_date"] == ["stage 5"]
    result = cobre.train(folder)
    assert result.final_lower_bound == pytest.approx(optimum(cobre.load_case(folder)), rel=1e-6)


def test_clamped_inflows_keep_the_bound_below_the_optimum_through_the_hand_over(tmp_path):
    case = months_then_quarters(tmp_path)
    case.documents["config.json"]["modeling"]["inflow_non_negativity"]["method"] = "truncation"
    statistics = case.tables["scenarios/inflow_seasonal_stats.parquet"]
    statistics["mean_m3s"] = [0.4 * mean for mean in statistics["mean_m3s"]]
    statistics["std_m3s"] = [2.0 * std for std in statistics["std_m3s"]]
    folder = case.write()
    expected = optimum(cobre.load_case(folder))
    found = bounds(cobre.train(folder))
    assert max(found) <= expected * (1 + 1e-8)
    assert found[-1] >= 0.9 * expected


@pytest.mark.parametrize("has_statistics", [False, True])
def test_models_of_months_and_quarters_are_fitted_to_one_history(tmp_path, has_statistics):
    case = months_then_quarters(tmp_path)
    del case.tables[LAGS]
    if not has_statistics:
        del case.tables[STATS]
    values = river(60, 1)
    case.tables[HISTORY] = dated(values, "1965-01", hydro_ids=(0,))
    case.documents["initial_conditions.json"]["past_inflows"] = []
    folder = case.write()
    report = cobre.validate(folder)
    assert report.valid, report.errors
    study = cobre.load_case(folder)
    given = study.initial.past_inflows[0].values_m3s
    assert given == tuple(values[0][: -len(given) - 1 : -1].tolist())
    lags = {stage: set() for stage in range(7)}
    for stage_id, lag in zip(study.scenarios.lags.stage_id, study.scenarios.lags.lag, strict=True):
        lags[int(stage_id)].add(int(lag))
    assert lags[3], "the second quarter goes with the first one"
    if not has_statistics:
        rows = study.scenarios.inflow
        july = values.reshape(-1, 12)[:, 6:9] @ np.array([31, 31, 30]) / 92
        assert rows.mean_m3s[rows.stage_id == 4].tolist() == pytest.approx([july.mean()])
        assert rows.std_m3s[rows.stage_id == 4].tolist() == pytest.approx([july.std()])
    found = bounds(cobre.train(folder))
    assert found[-1] == pytest.approx(optimum(study), rel=1e-6)
