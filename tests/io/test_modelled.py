"""What the format has and is not modelled is refused where it changes the optimum, else warned about, never ignored."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from case_breakers import put, several
from cobre.io.loading import load_with_report, validate

STAGES, HYDROS, CONFIG, INITIAL = (
    "stages.json",
    "system/hydros.json",
    "config.json",
    "initial_conditions.json",
)
THERMALS = "system/thermals.json"
HISTORY = "scenarios/inflow_history.parquet"


def table(file, **columns):
    def change(case):
        case.tables.setdefault(file, {}).update(columns)

    return change


def without_lags(case):
    del case.tables["scenarios/inflow_ar_coefficients.parquet"]
    for stage in case.documents[STAGES]["stages"]:
        stage["state_variables"] = {"storage": True, "inflow_lags": False}


def history(case):
    case.tables[HISTORY] = {"hydro_id": [0], "date": [100], "value_m3s": [3.0]}


OBSERVATION = [{"hydro_id": 0, "start_date": "2025-12-20", "end_date": "2026-01-01", "value_m3s": 250.0}]

REFUSED = [
    (put(THERMALS, "thermals", 0, "gnl_config", {"lag_stages": 2}), THERMALS, "gnl_config.lag_stages", 2),
]  # fmt: skip

WARNED = [
    (put(CONFIG, "training", "cut_formulation", "multi"), CONFIG, "training.cut_formulation", "multi"),
    (put(CONFIG, "training", "forward_pass", {"type": "default"}), CONFIG, "training.forward_pass.type", "default"),
    (put(CONFIG, "training", "cut_selection", {"basis_activity_window": 9}), CONFIG,
     "training.cut_selection.basis_activity_window", 9),
    (put(CONFIG, "exports", {"states": True}), CONFIG, "exports.states", True),
    (put(CONFIG, "policy", {"path": "elsewhere"}), CONFIG, "policy.path", "elsewhere"),
    (put(CONFIG, "policy", {"checkpointing": {"enabled": True, "store_basis": False}}), CONFIG,
     "policy.checkpointing.store_basis", False),
    (put(CONFIG, "estimation", {"max_order": 2}), CONFIG, "estimation", None),
    (put(CONFIG, "modeling", "inflow_non_negativity", "penalty_cost", 500.0), CONFIG,
     "modeling.inflow_non_negativity.penalty_cost", 500.0),
    (put(STAGES, "stages", 3, "state_variables", {"storage": False, "inflow_lags": True}), STAGES,
     "state_variables.storage", False),
    (put(STAGES, "stages", 3, "state_variables", {"storage": True, "inflow_lags": False}), STAGES,
     "state_variables.inflow_lags", False),
    (put(THERMALS, "thermals", 0, "gnl_config", {"lag_stages": 0}), THERMALS, "gnl_config.lag_stages", 0),
    (put(HYDROS, "hydros", 0, "tailrace", {"type": "polynomial", "coefficients": [1.0]}), HYDROS, "tailrace",
     ["tailrace"]),
    (put(INITIAL, "filling_storage", [{"hydro_id": 0, "value_hm3": 3.0}]), INITIAL, "filling_storage.value_hm3", 3.0),
    (put(INITIAL, "past_inflows", 0, "season_ids", [11]), INITIAL, "past_inflows.season_ids", [11]),
    (several(without_lags, put(INITIAL, "recent_observations", OBSERVATION)), INITIAL,
     "recent_observations.value_m3s", 250.0),
    (table("constraints/hydro_bounds.parquet", filling_inflow_m3s=[2.5] + [None] * 11),
     "constraints/hydro_bounds.parquet", "filling_inflow_m3s", 2.5),
    (history, HISTORY, "value_m3s", 1),
    (put("system/energy_contracts.json", "contracts", 1, "price_per_mwh", 15.0), "system/energy_contracts.json",
     "price_per_mwh", 15.0),
    (put(INITIAL, "storage", 0, "value_hm3", 9000.0), INITIAL, "storage.value_hm3", 9000.0),
    (put("penalties.json", "bus", "deficit_segments", [{"depth_mw": None, "cost": 5.0}]), "penalties.json",
     "deficit_segments.cost", 5.0),
    (put("scenarios/correlation.json", "method", "guess"), "scenarios/correlation.json", "method", "guess"),
    (put("scenarios/correlation.json", "profiles", "default", "correlation_groups", 0, {
        "name": "three",
        "entities": [{"type": "inflow", "id": 0}, {"type": "inflow", "id": 1}, {"type": "inflow", "id": 2}],
        "matrix": [[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]}), "scenarios/correlation.json", "matrix",
     None),
]  # fmt: skip


def _ids(rows):
    return [f"{file} {field} {value}" for _, file, field, value in rows]


@pytest.mark.parametrize(("change", "file", "field", "value"), REFUSED, ids=_ids(REFUSED))
def test_unsupported_settings_that_change_the_optimum_are_refused(case, change, file, field, value):
    change(case)
    errors = validate(case.write()).errors
    assert [(error.file, error.field, error.value) for error in errors] == [(file, field, value)]
    assert errors[0].remedy
    spelling = f"{value:g}" if isinstance(value, float) else str(value)
    assert spelling.lower() in str(errors[0]).lower()


OTHER_STUDY = re.compile(
    r"\b(remove|use (parallel|finite_horizon|saa)|start (it|the study)|close the plant|leave)\b"
)


@pytest.mark.parametrize(("change", "file", "field", "value"), REFUSED, ids=_ids(REFUSED))
def test_no_refusal_advises_what_would_be_another_study(case, change, file, field, value):
    change(case)
    (error,) = validate(case.write()).errors
    assert not OTHER_STUDY.search(error.remedy)


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (
            put(STAGES, "stages", 4, "end_date", "2026-06-02"),
            "correct the date that is wrong, if one is; only weeks may reach into a longer stage after them",
        ),
    ],
)
def test_a_refusal_names_the_way_that_keeps_the_study(case, change, remedy):
    change(case)
    assert validate(case.write()).errors[0].remedy == remedy


@pytest.mark.parametrize(("change", "file", "field", "value"), WARNED, ids=_ids(WARNED))
def test_the_rest_is_a_warning(case, change, file, field, value):
    change(case)
    study, report = load_with_report(case.write())
    assert study.name == "case"
    assert report.valid
    (warning,) = report.warnings
    assert (warning.file, warning.field) == (file, field)
    if value is not None:
        assert warning.value == value
    assert warning.remedy


def test_chronological_blocks_cannot_matter_where_there_is_one(case):
    stage = case.documents[STAGES]["stages"][0]
    stage.update(block_mode="chronological", blocks=[{"id": 0, "name": "ALL", "hours": 744}])
    for entry in case.documents["scenarios/load_factors.json"]["load_factors"]:
        entry["block_factors"] = (
            entry["block_factors"][:1] if entry["stage_id"] == 0 else entry["block_factors"]
        )
    report = validate(case.write())
    assert report.valid
    assert report.warnings == ()


NOISES = [(s, o, e) for s in range(12) for o in range(8) for e in range(7)]


def give_tree(case, rows):
    """Noises 0 of these stages, openings and entities."""
    case.tables["scenarios/noise_openings.parquet"] = {
        "stage_id": [row[0] for row in rows],
        "opening_index": [row[1] for row in rows],
        "entity_index": [row[2] for row in rows],
        "value": [0.0] * len(rows),
    }


def test_a_given_tree_replaces_every_sampling_method(case):
    give_tree(case, NOISES)
    for stage, method in enumerate(("selective", "qmc_sobol", "qmc_halton", "historical_residuals")):
        case.documents[STAGES]["stages"][stage]["sampling_method"] = method
    assert validate(case.write()).valid


@pytest.mark.parametrize(
    ("row", "field"),
    [((0, 8, 0), "opening_index"), ((0, 0, 7), "entity_index"), (None, "opening_index")],
)
def test_a_given_tree_must_have_every_noise(case, row, field):
    give_tree(case, NOISES[:-1] if row is None else [*NOISES, row])
    (error,) = validate(case.write()).errors
    assert error.field == field


def test_openings_without_noise_are_pointed_out(case):
    case.tables["scenarios/inflow_seasonal_stats.parquet"]["std_m3s"] = [0.0] * 39
    case.tables["scenarios/load_seasonal_stats.parquet"]["std_mw"] = [0.0] * 36
    case.tables["scenarios/non_controllable_stats.parquet"]["std"] = [0.0] * 12
    (warning,) = validate(case.write()).warnings
    assert (warning.field, warning.value) == ("num_scenarios", 8)


def test_statistics_that_are_missing_are_pointed_out(case):
    for name, values in case.tables["scenarios/load_seasonal_stats.parquet"].items():
        case.tables["scenarios/load_seasonal_stats.parquet"][name] = values[:-1]
    (warning,) = validate(case.write()).warnings
    assert warning.entity == "bus 2 (EAST)"
    assert "stage 11" in warning.message
    assert "load there is 0" in warning.message


@pytest.mark.parametrize("is_there", [True, False])
def test_a_study_without_any_load_is_pointed_out(case, is_there):
    table = case.tables["scenarios/load_seasonal_stats.parquet"]
    if is_there:
        table.update({name: pa.array([], type=pa.array(values).type) for name, values in table.items()})
    else:
        del case.tables["scenarios/load_seasonal_stats.parquet"]
    warnings = [each for each in validate(case.write()).warnings if "no bus has any load" in each.message]
    assert [each.file for each in warnings] == ["scenarios/load_seasonal_stats.parquet"]


def test_days_between_stages_are_pointed_out(case):
    case.documents[STAGES]["stages"][3]["end_date"] = "2026-04-30"
    (warning,) = validate(case.write()).warnings
    assert (warning.entity, warning.field) == ("stage 4", "start_date")


def test_unused_seasons_are_pointed_out(case):
    case.documents[STAGES]["season_definitions"]["seasons"].append({"id": 12, "label": "x", "month_start": 1})
    (warning,) = validate(case.write()).warnings
    assert warning.value == [12]


def test_a_stage_that_cannot_be_read_makes_no_season_unused(case):
    case.documents[STAGES]["stages"][0]["star_date"] = case.documents[STAGES]["stages"][0].pop("start_date")
    assert validate(case.write()).warnings == ()


def test_a_constraint_without_bounds_is_pointed_out(case):
    table = case.tables["constraints/generic_constraint_bounds.parquet"]
    case.tables["constraints/generic_constraint_bounds.parquet"] = {k: v[:2] for k, v in table.items()}
    (warning,) = validate(case.write()).warnings
    assert warning.entity == "generic constraint 4 (reserve)"


def test_planes_that_no_stage_uses_are_pointed_out(case):
    planes = case.tables["system/fpha_hyperplanes.parquet"]
    for values in planes.values():
        values.append(values[-1])
    planes["hydro_id"][-1] = 1
    (warning,) = validate(case.write()).warnings
    assert (warning.entity, warning.field) == ("hydro 1 (LOWER)", "hydro_id")
    assert "its 1 planes are not used" in warning.message


def test_a_source_without_statistics_in_some_stage_is_pointed_out(case):
    table = case.tables["scenarios/non_controllable_stats.parquet"]
    case.tables["scenarios/non_controllable_stats.parquet"] = {
        name: each[:-1] for name, each in table.items()
    }
    (warning,) = validate(case.write()).warnings
    assert warning.entity == "non-controllable source 0 (WIND)"
    assert "all of its power is available there" in warning.message
