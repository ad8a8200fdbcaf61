"""Cases that are legal and rare, in both generations, with optima that can be computed by hand."""

from __future__ import annotations

import pytest

import cobre
from format_018.older_twin import older
from format_018.small import DATE, Case018
from simulation.balances import rows

HOURS = 744.0
GENERATIONS = pytest.mark.parametrize("written_as", [lambda case: case, older], ids=["0.18", "0.5.1"])


def one_stage(*loads: float) -> Case018:
    return Case018([[HOURS]], loads)


def bound(case: Case018, folder, **settings) -> float:
    return float(cobre.train(case.write(folder / "case"), **settings).final_lower_bound)


def reverse_only(case: Case018) -> float:
    """A line that carries power only against its direction, from bus 0 to bus 1."""
    case.add_thermal(50.0, 80.0)
    case.documents["system/lines.json"]["lines"] = [
        {
            "id": 4,
            "name": "L",
            "operational_start_date": DATE,
            "source_bus_id": 1,
            "target_bus_id": 0,
            "capacity": {"direct_mw": 0, "reverse_mw": 3},
        }
    ]
    return 13.0 * 50.0 + 2.0 * 1000.0


def a_thermal_and_unserved_load(case: Case018) -> float:
    case.add_thermal(50.0, 8.0)
    return 8.0 * 50.0 + 2.0 * 1000.0 + 5.0 * 1000.0


def no_plant(_: Case018) -> float:
    return 15.0 * 1000.0


@GENERATIONS
@pytest.mark.parametrize("change", [reverse_only, a_thermal_and_unserved_load, no_plant])
def test_a_study_of_one_stage(tmp_path, written_as, change):
    case = one_stage(10.0, 5.0)
    expected = HOURS * change(case)
    assert bound(written_as(case), tmp_path) == pytest.approx(expected, rel=1e-9)


@GENERATIONS
def test_negative_demand_is_excess(tmp_path, written_as):
    case = one_stage(-10.0)
    case.add_thermal(50.0, 80.0)
    assert bound(written_as(case), tmp_path) == pytest.approx(HOURS * 10.0 * 0.01, rel=1e-9)


def river(n_stages: int) -> Case018:
    case = Case018([[HOURS], [672.0]][:n_stages], [10.0])
    case.add_thermal(50.0, 8.0)
    case.add_hydro(10.0, 50.0, inflow=[2.0, 1.0][:n_stages])
    return case


def test_the_first_stage_alone_before_the_policy_of_the_whole_study(tmp_path):
    whole = cobre.train(river(2).write(tmp_path / "whole"))
    first = cobre.train(river(1).write(tmp_path / "first"), boundary=whole.policy)
    assert first.final_lower_bound == pytest.approx(whole.final_lower_bound, rel=1e-9)


@GENERATIONS
def test_one_stage_with_openings_and_risk_is_simulated(tmp_path, written_as):
    """CVaR over the worse half of four openings of the only stage, by the costs of a simulation of these."""
    case = river(1)
    stage = case.documents["stages.json"]["stages"][0]
    stage.update(num_openings=4, risk_measure={"cvar": {"alpha": 0.5, "lambda": 1.0}})
    case.tables["scenarios/inflow_seasonal_stats.parquet"] = [
        {"hydro_id": 0, "stage_id": 0, "mean_m3s": 2.0, "std_m3s": 1.0}
    ]
    study = cobre.load_case(written_as(case).write(tmp_path / "case"))
    result = cobre.train(study)
    simulated = rows(cobre.simulate(study, result.policy, scenarios=64), "costs")
    costs = sorted({round(row["total_cost"], 6) for row in simulated})
    assert len(costs) == 4
    assert result.final_lower_bound == pytest.approx(sum(costs[2:]) / 2.0, rel=1e-9)


NULLS = {
    "config.json": {
        "simulation": None,
        "estimation": None,
        "policy": {"path": None, "mode": None, "boundary": None, "checkpointing": {"enabled": None}},
        "exports": {"states": None, "stochastic": None},
    },
    "stages.json": {"season_definitions": None, "pre_study_stages": None},
    "initial_conditions.json": {"recent_observations": None},
    "system/energy_contracts.json": {"contracts": None},
    "system/pumping_stations.json": {"pumping_stations": None},
    "scenarios/load_factors.json": {"load_factors": None},
    "constraints/generic_constraints.json": {"constraints": None},
}
OF_TRAINING = {
    "enabled": None,
    "tree_seed": None,
    "stopping_mode": None,
    "scenario_source": {"seed": None, "historical_years": None, "inflow": None, "load": {"scheme": None}},
    "solver": {"retry_max_attempts": None},
}
OF_STAGES = {
    "season_id": None,
    "block_mode": None,
    "state_variables": None,
    "risk_measure": None,
    "sampling_method": None,
}
OF_HYDROS = dict.fromkeys(
    (
        "downstream_id",
        "evaporation",
        "diversion",
        "tailrace",
        "hydraulic_losses",
        "efficiency",
        "filling",
        "entry_stage_id",
        "exit_stage_id",
        "penalties",
    )
)


@GENERATIONS
def test_a_null_is_a_key_that_is_not_there(tmp_path, written_as):
    plain = bound(written_as(river(2)), tmp_path / "plain")
    case = written_as(river(2))
    for path, more in NULLS.items():
        case.documents.setdefault(path, {}).update(more)
    case.documents["config.json"]["training"].update(OF_TRAINING)
    case.documents["stages.json"]["policy_graph"]["transitions"] = None
    for stage in case.documents["stages.json"]["stages"]:
        stage.update(OF_STAGES)
    case.documents["system/hydros.json"]["hydros"][0].update(OF_HYDROS)
    folder = case.write(tmp_path / "nulls")
    assert cobre.validate(folder).errors == ()
    assert cobre.train(folder).final_lower_bound == plain


def test_a_null_for_what_must_be_given_is_named(tmp_path):
    case = river(2)
    case.documents["system/lines.json"]["lines"] = None
    case.documents["initial_conditions.json"].update(storage=None, recent_observations=None)
    errors = cobre.validate(case.write(tmp_path / "case")).errors
    assert [(each.file, each.field, each.value) for each in errors] == [
        ("initial_conditions.json", "storage", None),
        ("system/lines.json", "lines", None),
    ]


def test_productivities_of_the_energy_file_alone(tmp_path):
    expected = bound(river(2), tmp_path / "models")
    case = river(2)
    del case.documents["system/hydro_production_models.json"]
    row = {"hydro_id": 0, "stage_id": None, "equivalent_productivity_mw_per_m3s": 1.0}
    row.update(reference_outflow_m3s=None, specific_productivity_mw_per_m3s_per_m=None)
    case.tables["system/hydro_energy_productivity.parquet"] = [row]
    assert bound(case, tmp_path / "energy") == expected


def test_a_plant_with_planes_and_without_turbines_needs_no_planes(tmp_path):
    case = river(2)
    plant = case.documents["system/hydros.json"]["hydros"][0]
    plant["generation"].update(model="fpha", max_turbined_m3s=0.0)
    plant["unit_groups"][0]["max_turbined_m3s"] = 0.0
    models = case.documents["system/hydro_production_models.json"]["production_models"]
    config = {"source": "precomputed"}
    models[0]["stage_ranges"] = [
        {"start_stage_id": 0, "end_stage_id": None, "model": "fpha", "fpha_config": config}
    ]
    hours = HOURS + 672.0
    assert bound(case, tmp_path) == pytest.approx(hours * (8.0 * 50.0 + 2.0 * 1000.0), rel=1e-9)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_of_openings_is_used_or_warned_of(tmp_path, is_there):
    case = river(2)
    if is_there:
        case.tables["scenarios/noise_openings.parquet"] = [
            {"stage_id": stage, "opening_index": 0, "entity_index": 0, "value": 0.5} for stage in range(2)
        ]
    else:
        training = case.documents["config.json"]["training"]
        training["scenario_source"] = {"openings": {"source": "file"}}
    report = cobre.validate(case.write(tmp_path / "case"))
    (finding,) = report.warnings if is_there else report.errors
    assert finding.file == "scenarios/noise_openings.parquet"
    assert finding.field == "training.scenario_source.openings.source"


def test_a_key_of_another_choice_is_no_misspelling(tmp_path):
    case = river(1)
    case.documents["config.json"]["training"]["selection"] = {"method": "enumerated", "forward_passes": 2}
    (error,) = cobre.validate(case.write(tmp_path / "case")).errors
    assert error.field == "training.selection.forward_passes"
    assert error.remedy == "remove forward_passes: it goes with another choice than this one"


def test_a_missing_boundary_policy_is_reported_before_a_run(tmp_path):
    case = river(2)
    case.documents["config.json"]["policy"] = {"boundary": {"path": "../other"}}
    folder = case.write(tmp_path / "case")
    (warning,) = cobre.validate(folder).warnings
    assert (warning.field, warning.value) == ("policy.boundary.path", "../other")
    (tmp_path / "other").mkdir()
    assert cobre.validate(folder).warnings == ()


@pytest.mark.parametrize("path", ["stages.json", "scenarios/load_factors.json"])
def test_a_file_that_is_null_is_no_file(tmp_path, path):
    folder = river(2).write(tmp_path / "case")
    (folder / path).write_text("null")
    (error,) = cobre.validate(folder).errors
    assert (error.file, error.value) == (path, "null")


@pytest.mark.parametrize("entry", [[0, 1.5], [0], [], 4, [0, 0, 1.0, 2.0], ["0", 0, 1.0], None])
def test_an_entry_of_parameters_that_is_too_short_or_too_long_is_named(tmp_path, entry):
    case = river(1)
    blocked = {"id": 0, "name": "factor", "kind": "per_stage_block", "block_values": [entry]}
    case.documents["constraints/generic_parameters.json"] = {"scalar_parameters": [blocked]}
    errors = cobre.validate(case.write(tmp_path / "case")).errors
    assert errors
    assert {error.file for error in errors} == {"constraints/generic_parameters.json"}
    assert all("block_values" in error.field for error in errors)


@pytest.mark.parametrize("volume", [1.0, 60.0])
def test_evaporation_from_a_volume_that_the_reservoir_cannot_have(tmp_path, volume):
    case = river(1)
    plant = case.documents["system/hydros.json"]["hydros"][0]
    plant["reservoir"]["min_storage_hm3"] = 5.0
    plant["evaporation"] = {"coefficients_mm": [10.0] * 12, "reference_volumes_hm3": [5.0, 50.0] * 6}
    point = {"hydro_id": 0, "volume_hm3": 5.0, "height_m": 100.0, "area_km2": 1.0}
    case.tables["system/hydro_geometry.parquet"] = [point, {**point, "volume_hm3": 50.0, "area_km2": 4.0}]
    assert cobre.validate(case.write(tmp_path / "within")).errors == ()
    plant["evaporation"]["reference_volumes_hm3"][3] = volume
    (error,) = cobre.validate(case.write(tmp_path / "outside")).errors
    assert (error.field, error.value) == ("evaporation.reference_volumes_hm3", volume)


def test_limits_of_a_block_have_no_effect_in_the_older_generation(tmp_path):
    """0.5.1 reserves the column; 0.18 acts on it."""
    plain = bound(river(2), tmp_path / "plain")
    case = river(2)
    case.tables["constraints/thermal_bounds.parquet"] = [
        {"thermal_id": 0, "stage_id": 0, "block_id": 0, "max_generation_mw": 1.0}
    ]
    assert bound(case, tmp_path / "format_018") > plain
    folder = older(case).write(tmp_path / "older")
    (warning,) = cobre.validate(folder).warnings
    assert (warning.field, warning.value) == ("block_id", 1)
    assert cobre.train(folder).final_lower_bound == plain
