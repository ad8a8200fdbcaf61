"""Settings of where noise comes from: what they need is there, what contradicts itself is refused with its place."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import cobre
from case_folders import example_case
from history_cases import HISTORY, dated
from inflow_records import river
from resolution_cases import MONTHS, reservoir_case, stage, with_load

CONFIG, STAGES, INITIAL = "config.json", "stages.json", "initial_conditions.json"


def put(case, phase, **source):
    case.documents[CONFIG].setdefault(phase, {})["scenario_source"] = source


def with_history(case, n_years=20):
    case.tables[HISTORY] = dated(river(n_years, 3), "1991-01", hydro_ids=(0, 1, 2))
    return case


def only_error(case):
    (error,) = cobre.validate(case.write()).errors
    return error


@pytest.mark.parametrize("phase", ["training", "simulation"])
@pytest.mark.parametrize(
    ("source", "kind", "field", "words"),
    [
        ({"load": {"scheme": "out_of_sample"}}, "SchemaViolation", "seed", "load.scheme is out_of_sample"),
        ({"seed": 1, "ncs": {"scheme": "historical"}}, "IncompatibleSettings", "ncs.scheme", "only inflows"),
        (
            {"historical_years": [1995]},
            "IncompatibleSettings",
            "historical_years",
            "the inflow scheme is in_sample",
        ),
        (
            {"inflow": {"scheme": "historical"}, "historical_years": {"from": 2003, "to": 1999}},
            "OutOfRange",
            "historical_years",
            "from 2003 to 1999",
        ),
        (
            {"inflow": {"scheme": "historical"}, "historical_years": []},
            "OutOfRange",
            "historical_years",
            "empty list",
        ),
    ],
)
def test_a_source_that_contradicts_itself_is_refused(case, phase, source, kind, field, words):
    put(with_history(case), phase, **source)
    error = only_error(case)
    assert (error.kind, error.file, error.field) == (kind, CONFIG, f"{phase}.scenario_source.{field}")
    assert words in error.message


def test_external_scenarios_need_a_seed_as_the_format_says(case):
    put(case, "training", load={"scheme": "external"})
    fields = {error.field for error in cobre.validate(case.write()).errors}
    assert "training.scenario_source.seed" in fields


def test_a_missing_history_is_an_error(case):
    put(case, "simulation", inflow={"scheme": "historical"})
    error = only_error(case)
    assert (error.kind, error.file, error.value) == ("MissingFile", HISTORY, "historical")
    case.documents[CONFIG].pop("simulation")
    case.documents[STAGES]["stages"][3]["sampling_method"] = "historical_residuals"
    error = only_error(case)
    assert (error.file, error.entity, error.field) == (HISTORY, "stage 3", "sampling_method")


def test_years_that_the_history_lacks_are_left_out_with_a_warning(tmp_path):
    case = with_history(example_case(tmp_path))
    case.tables[HISTORY] = dated(river(20), "1991-01")
    put(case, "training", inflow={"scheme": "historical"}, historical_years=[1993, 1994, 2050])
    report = cobre.validate(case.write())
    assert report.valid, report.errors
    words = [str(w) for w in report.warnings if w.field == "training.scenario_source.historical_years"]
    assert len(words) == 2
    assert "years 2050, which are left out" in words[0]
    assert "2 windows of the history serve 8 trajectories" in words[1]
    put(case, "training", inflow={"scheme": "historical"}, historical_years=[2050])
    assert "none of the years 2050" in only_error(case).message


def test_a_historical_case_trains_and_uses_its_history(tmp_path):
    case = example_case(tmp_path)
    case.tables[HISTORY] = dated(river(20), "1991-01")
    put(case, "training", inflow={"scheme": "historical"}, historical_years={"from": 1995, "to": 2009})
    case.documents[CONFIG]["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 2}]
    folder = case.write()
    report = cobre.validate(folder)
    assert report.valid
    assert not [warning for warning in report.warnings if warning.file == HISTORY]
    assert cobre.load_case(folder).config.training.scenario_source.historical_years == tuple(
        range(1995, 2010)
    )
    assert cobre.train(folder).iterations == 2


def test_a_number_of_sobol_points_that_is_no_power_of_two_is_pointed_out(case):
    stages = case.documents[STAGES]["stages"]
    stages[2].update(sampling_method="qmc_sobol", num_scenarios=8)
    stages[4].update(sampling_method="qmc_sobol_lms", num_scenarios=10)
    warnings = [w for w in cobre.validate(case.write()).warnings if w.field == "num_scenarios"]
    assert [(warning.entity, warning.value) for warning in warnings] == [("stage 4", 10)]


def test_methods_for_openings_only_are_pointed_out_beside_fresh_trajectories(case):
    case.documents[STAGES]["stages"][5]["sampling_method"] = "historical_residuals"
    put(with_history(case), "training", seed=1, inflow={"scheme": "out_of_sample"})
    warnings = [w for w in cobre.validate(case.write()).warnings if w.field == "sampling_method"]
    assert [(warning.entity, warning.value) for warning in warnings] == [("stage 5", "historical_residuals")]


def test_more_noises_than_sobol_points_have_dimensions_are_refused(tmp_path, monkeypatch):
    case = example_case(tmp_path)
    case.documents[STAGES]["stages"][2].update(sampling_method="qmc_sobol", num_scenarios=8)
    monkeypatch.setattr(import_module("cobre.io.validate.sampling"), "MAX_SOBOL_DIMENSIONS", 3)
    error = only_error(case)
    assert (error.file, error.entity, error.field) == (STAGES, "stage 2", "sampling_method")


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        ("2025-12-20", "2026-01-02", "recent_observations.end_date"),
        ("2025-12-20", "2025-12-20", "recent_observations.end_date"),
    ],
)
def test_an_observation_outside_the_past_is_refused(case, start, end, field):
    case.documents[INITIAL]["recent_observations"] = [
        {"hydro_id": 0, "start_date": start, "end_date": end, "value_m3s": 250.0}
    ]
    error = only_error(case)
    assert (error.kind, error.file, error.field, error.value) == ("OutOfRange", INITIAL, field, end)


def test_observations_that_overlap_are_refused(case):
    case.documents[INITIAL]["recent_observations"] = [
        {"hydro_id": 0, "start_date": "2025-12-01", "end_date": "2025-12-20", "value_m3s": 250.0},
        {"hydro_id": 0, "start_date": "2025-12-15", "end_date": "2026-01-01", "value_m3s": 260.0},
    ]
    assert only_error(case).field == "recent_observations.start_date"


def test_observations_may_be_of_some_hydros_only(case):
    stages = case.documents[STAGES]["stages"]
    stages[0]["start_date"] = "2026-01-06"
    stages[0]["blocks"] = [dict(block, hours=block["hours"] * 26 / 31) for block in stages[0]["blocks"]]
    case.documents[INITIAL]["recent_observations"] = [
        {"hydro_id": 0, "start_date": "2026-01-01", "end_date": "2026-01-06", "value_m3s": 250.0}
    ]
    report = cobre.validate(case.write())
    assert report.valid, report.errors


def external(case, values, name="load", key="bus_id", column="value_mw", entity=0, stages=12):
    """Scenarios of one entity: ``values`` in every stage."""
    n = len(values)
    case.tables[f"scenarios/external_{name}_scenarios.parquet"] = {
        "stage_id": np.repeat(np.arange(stages), n).tolist(),
        "scenario_id": list(range(n)) * stages,
        key: [entity] * (n * stages),
        column: list(values) * stages,
    }


def test_scenarios_of_an_entity_without_deviation_are_pointed_out(tmp_path):
    case = example_case(tmp_path)
    case.tables["scenarios/load_seasonal_stats.parquet"]["std_mw"] = [
        0.0 for _ in case.tables["scenarios/load_seasonal_stats.parquet"]["std_mw"]
    ]
    external(case, [100.0, 120.0])
    put(case, "training", seed=1, load={"scheme": "external"})
    warnings = [w for w in cobre.validate(case.write()).warnings if w.field == "bus_id"]
    assert [warning.value for warning in warnings] == [[0]]


def test_a_given_value_that_no_noise_can_give_is_refused(tmp_path):
    case = example_case(tmp_path)
    stats = case.tables["scenarios/inflow_seasonal_stats.parquet"]
    place = list(zip(stats["hydro_id"], stats["stage_id"], strict=True)).index((1, 3))
    stats["std_m3s"][place] = 0.0
    n = 12 * 2 * 2
    case.tables["scenarios/external_inflow_scenarios.parquet"] = {
        "stage_id": [t for t in range(12) for _ in range(4)],
        "scenario_id": [0, 0, 1, 1] * 12,
        "hydro_id": [0, 1] * 24,
        "value_m3s": [200.0 + i for i in range(n)],
    }
    put(case, "training", seed=1, inflow={"scheme": "external"})
    error = only_error(case)
    assert (error.kind, error.entity) == ("OutOfRange", "stage 3")
    assert "external_inflow_scenarios" in error.file
    assert "no deviation" in error.message


@pytest.mark.parametrize(
    ("scenario_ids", "bus_ids", "words"),
    [
        ([1, 1, 2, 2], [0, 1, 0, 1], "has 2 scenarios up to number 2, without number 0"),
        ([0, 0, 3, 3], [0, 1, 0, 1], "has 2 scenarios up to number 3, without number 1"),
        ([-1, -1, 0, 0], [0, 1, 0, 1], "has a scenario -1"),
        ([0, 0, 1], [0, 1, 0], "scenario 1 has no value of bus_id 1"),
    ],
)
def test_missing_scenarios_of_a_stage_are_named(tmp_path, scenario_ids, bus_ids, words):
    case = example_case(tmp_path)
    rows = [(stage, n, bus) for stage in range(12) for n, bus in zip(scenario_ids, bus_ids, strict=True)]
    case.tables["scenarios/load_seasonal_stats.parquet"] = {
        "bus_id": [bus for bus in (0, 1) for _ in range(12)],
        "stage_id": list(range(12)) * 2,
        "mean_mw": [100.0] * 24,
        "std_mw": [5.0] * 24,
    }
    case.tables["scenarios/external_load_scenarios.parquet"] = {
        "stage_id": [stage for stage, _, _ in rows],
        "scenario_id": [n for _, n, _ in rows],
        "bus_id": [bus for _, _, bus in rows],
        "value_mw": [100.0 + bus for _, _, bus in rows],
    }
    put(case, "training", seed=1, load={"scheme": "external"})
    errors = cobre.validate(case.write()).errors
    assert [error.message for error in errors] == [words] * 12


def test_external_classes_with_different_numbers_of_scenarios_are_pointed_out(case):
    load = case.tables["scenarios/load_seasonal_stats.parquet"]
    buses = sorted({b for b, std in zip(load["bus_id"], load["std_mw"], strict=True) if std > 0})
    sources = sorted(set(case.tables["scenarios/non_controllable_stats.parquet"]["ncs_id"]))
    for name, key, column, ids, n in (
        ("load", "bus_id", "value_mw", buses, 3),
        ("ncs", "ncs_id", "value", sources, 2),
    ):
        rows = [(t, k, e) for t in range(12) for k in range(n) for e in ids]
        case.tables[f"scenarios/external_{name}_scenarios.parquet"] = {
            "stage_id": [r[0] for r in rows],
            "scenario_id": [r[1] for r in rows],
            key: [r[2] for r in rows],
            column: [0.5] * len(rows),
        }
    put(case, "training", seed=1, load={"scheme": "external"}, ncs={"scheme": "external"})
    warnings = [w for w in cobre.validate(case.write()).warnings if w.field == "scenario_id"]
    assert warnings[0].value == [2, 3]


def test_a_lag_without_statistics_is_pointed_out(tmp_path):
    """The study begins in March, and neither stage -1 nor any February has statistics."""
    stages = [stage(t, f"2026-0{t + 3}-01", f"2026-0{t + 4}-01", t + 2) for t in range(3)]
    case = reservoir_case(
        tmp_path, stages, dict.fromkeys(range(3), (30.0, 9.0)), past=[28.0], cycle="monthly", seasons=MONTHS
    )
    report = cobre.validate(with_load(case, [70.0] * 3).write())
    assert report.valid
    (warning,) = [w for w in report.warnings if "counts as 0" in w.message]
    assert (warning.entity, warning.field, warning.value) == ("stage 0", "stage_id", -1)


def test_selected_openings_are_no_years_of_the_history(tmp_path):
    case = with_history(example_case(tmp_path))
    case.tables[HISTORY] = dated(river(20), "1991-01")
    case.documents[CONFIG]["estimation"] = {"residuals": "bootstrap"}
    case.documents[STAGES]["stages"][2]["sampling_method"] = "selective"
    error = only_error(case)
    assert (error.kind, error.entity, error.value) == ("IncompatibleSettings", "stage 2", "selective")
    case.documents[CONFIG]["estimation"] = {"residuals": "lognormal"}
    assert cobre.validate(case.write()).valid


def test_external_loads_of_buses_without_deviation_have_no_effect_and_are_pointed_out(tmp_path):
    case = example_case(tmp_path)
    load = case.tables["scenarios/load_seasonal_stats.parquet"]
    load["std_mw"] = [0.0] * len(load["bus_id"])
    case.documents.pop("scenarios/correlation.json")
    rows = [(stage, scenario) for stage in range(12) for scenario in range(2)]
    case.tables["scenarios/external_load_scenarios.parquet"] = {
        "stage_id": [row[0] for row in rows],
        "scenario_id": [row[1] for row in rows],
        "bus_id": [0] * len(rows),
        "value_mw": [50.0 + row[1] for row in rows],
    }
    put(case, "training", seed=1, load={"scheme": "external"})
    case.documents[CONFIG]["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 1}]
    folder = case.write()
    report = cobre.validate(folder)
    assert report.valid, report.errors
    assert any("scenarios of bus_id 0 are not used" in str(warning) for warning in report.warnings)
    assert cobre.train(folder).iterations == 1


def test_stages_with_more_openings_than_years_are_pointed_out(tmp_path):
    case = example_case(tmp_path)
    case.tables[HISTORY] = dated(river(20), "1991-01")
    first = case.documents[STAGES]["stages"][0]
    first["sampling_method"], first["num_scenarios"] = "historical_residuals", 500
    (warning,) = [each for each in cobre.validate(case.write()).warnings if each.field == "num_scenarios"]
    assert (warning.entity, warning.value) == ("stage 0", 500)
    assert "but gets 20" in warning.message


def test_an_observation_that_no_noise_gives_is_named_with_the_id_of_its_plant(tmp_path):
    """The certain inflow of a stage cannot follow the history; ids of plants are not their indices."""
    case = example_case(tmp_path)
    for plant in case.documents["system/hydros.json"]["hydros"]:
        plant["id"] += 70
        plant["downstream_id"] = None if plant["downstream_id"] is None else plant["downstream_id"] + 70
    shift_ids(case, 70)
    case.tables[HISTORY] = dated(river(20), "1991-01", hydro_ids=(70, 71))
    stats = case.tables["scenarios/inflow_seasonal_stats.parquet"]
    for row, stage_id in enumerate(stats["stage_id"]):
        if stage_id == 4 and stats["hydro_id"][row] == 71:
            stats["std_m3s"][row] = 0.0
    put(case, "training", inflow={"scheme": "historical"})
    messages = [error.message for error in cobre.validate(case.write()).errors]
    assert len(messages) == 1, messages
    assert "of hydro 71 differs from its mean" in messages[0]


def shift_ids(case, step):
    """Give every plant an id that is larger by ``step``, in all files."""
    for table in case.tables.values():
        if "hydro_id" in table:
            table["hydro_id"] = [each + step for each in table["hydro_id"]]

    def walk(value):
        if isinstance(value, dict):
            if "hydro_id" in value:
                value["hydro_id"] += step
            if value.get("type") == "inflow" and "id" in value:
                value["id"] += step
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    for document in case.documents.values():
        walk(document)
