"""Which generation of the format a case is written in, and that mixtures are refused."""

from __future__ import annotations

import pytest

import cobre
from case_folders import example_case
from format_018.small import Case018


def case_018() -> Case018:
    case = Case018([[744.0], [672.0]], [10.0])
    case.add_thermal(10.0, 50.0)
    case.add_hydro(1.0, 5.0, inflow=[1.0, 1.0])
    return case


def test_a_case_of_0_18_is_valid_without_warnings(tmp_path):
    report = cobre.validate(case_018().write(tmp_path / "case"))
    assert (report.errors, report.warnings) == ((), ())


def _older_bus(case):
    del case.documents["system/buses.json"]["buses"][0]["operational_start_date"]


def _older_stages(case):
    for stage in case.documents["stages.json"]["stages"]:
        stage["num_scenarios"] = stage.pop("num_openings")


def _older_hydros(case):
    for hydro in case.documents["system/hydros.json"]["hydros"]:
        hydro["bus_id"] = hydro.pop("unit_groups")[0]["bus_id"]


def _older_config(case):
    training = case.documents["config.json"]["training"]
    training["forward_passes"] = training.pop("selection")["forward_passes"]


def _older_penalties(case):
    hydro = case.documents["penalties.json"]["hydro"]
    hydro["fpha_turbined_cost"] = hydro.pop("turbined_cost")


@pytest.mark.parametrize(
    ("change", "file", "key"),
    [
        (_older_bus, "system/buses.json", "buses[0] without operational_start_date"),
        (_older_stages, "stages.json", "stages[].num_scenarios"),
        (_older_hydros, "system/hydros.json", "hydros[].bus_id"),
        (_older_config, "config.json", "training.forward_passes"),
        (_older_penalties, "penalties.json", "hydro.fpha_turbined_cost"),
    ],
)
def test_a_mixture_is_refused_and_every_vote_is_named(tmp_path, change, file, key):
    case = case_018()
    change(case)
    (error,) = cobre.validate(case.write(tmp_path / "case")).errors
    assert (error.file, error.field, error.value, error.rule) == (file, key, "0.5.1", "generation.1")
    for vote in (
        "system/buses.json: buses[0]",
        "stages.json: stages[].num_",
        "system/hydros.json: hydros[].",
        "config.json: training.",
        "penalties.json: hydro.",
    ):
        assert vote in error.message


def test_a_case_of_the_older_generation_keeps_its_words(tmp_path):
    case = example_case(tmp_path / "case")
    case.documents["stages.json"]["stages"][0]["num_scenarios"] = 0
    (error,) = [each for each in cobre.validate(case.write()).errors if each.file == "stages.json"]
    assert error.field == "num_scenarios"


@pytest.mark.parametrize(
    ("file", "place", "key"),
    [
        ("config.json", ("training",), "forward_pass"),
        ("stages.json", ("stages", 0), "colour"),
        ("penalties.json", ("hydro",), "storage_cost"),
        ("system/thermals.json", ("thermals", 0), "gnl_config"),
        ("initial_conditions.json", (), "past_inflows"),
    ],
)
def test_an_unknown_key_in_a_case_of_018_is_an_error(tmp_path, file, place, key):
    case = case_018()
    target = case.documents[file]
    for step in place:
        target = target[step]
    target[key] = []
    (error,) = cobre.validate(case.write(tmp_path / "case")).errors
    assert (error.file, error.kind) == (file, "SchemaViolation")
    assert error.field.endswith(key)


def test_the_gap_rule_without_a_true_upper_bound_is_refused_by_name(tmp_path):
    case = Case018([[372.0, 372.0], [672.0]], [10.0])
    case.add_thermal(10.0, 50.0)
    case.add_hydro(1.0, 5.0, inflow=[1.0, 1.0])
    rules = case.documents["config.json"]["training"]["stopping_rules"]
    rules.append({"type": "gap", "relative_tolerance": 1.0})
    errors = cobre.validate(case.write(tmp_path / "case")).errors
    assert [error.field for error in errors] == ["training.stopping_rules.type"]


def test_stages_may_have_any_ids_in_order(tmp_path):
    case = case_018()
    plain = cobre.train(case.write(tmp_path / "plain")).final_lower_bound
    shifted = case_018()
    for stage, number in zip(shifted.documents["stages.json"]["stages"], (3, 7), strict=True):
        stage["id"] = number
    models = shifted.documents["system/hydro_production_models.json"]["production_models"]
    models[0]["stage_ranges"][0]["start_stage_id"] = 3
    shifted.stage_ids = (3, 7)
    assert cobre.train(shifted.write(tmp_path / "shifted")).final_lower_bound == plain


def test_a_stage_without_a_season_has_that_of_its_first_day(tmp_path):
    case = case_018()
    seasons = [{"id": 20 + month, "label": str(month), "month_start": month} for month in range(1, 13)]
    case.documents["stages.json"]["season_definitions"] = {"cycle_type": "monthly", "seasons": seasons}
    found = cobre.load_case(case.write(tmp_path / "case"))
    assert [stage.season_id for stage in found.horizon.stages] == [21, 22]


@pytest.mark.parametrize(
    ("given", "method", "tolerance"),
    [
        ({"method": "level1"}, "value_level1", 1e-10),
        ({"method": "lml1", "tie_tolerance": 1e-6}, "value_lml1", 1e-6),
        ({"method": "domination", "domination_tolerance": 0.5}, "value_level1", 0.5),
    ],
)
def test_cut_selection_judges_values(tmp_path, given, method, tolerance):
    case_018().write(tmp_path / "case")
    overrides = {"training.cut_selection": {"selection": given}}
    selection = cobre.load_case(tmp_path / "case", config_overrides=overrides).config.training.cut_selection
    assert (selection.method, selection.domination_epsilon, selection.check_frequency) == (
        method,
        tolerance,
        5,
    )
