"""``cobre convert``: a case of 0.5.1 and its twin of 0.18 have the same bound."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import example_case, full_case
from cobre.io.convert import convert_case
from files.generator import draw_flags, write_case
from format_018.older_twin import older
from format_018.small import Case018
from peer_cases import CASES, WHERE

FEW = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 6}]}}
LAGS = "scenarios/inflow_ar_coefficients.parquet"
EXAMPLES = [path for path in CASES if path.name not in ("4ree", "d16-par1-lag-shift")]
"""Without the large one, and one whose noise is not the one that its coefficients leave."""


def bounds(folder):
    return cobre.train(folder, config_overrides=FEW).history["lower_bound"]


def test_the_example_keeps_its_bounds(tmp_path):
    case = example_case(tmp_path / "old")
    del case.tables["constraints/hydro_bounds.parquet"]  # violations of withdrawals are limited now
    old = case.write()
    _, notes = convert_case(old, tmp_path / "new")
    assert cobre.validate(tmp_path / "new").errors == ()
    assert notes == []
    assert bounds(tmp_path / "new") == pytest.approx(bounds(old), rel=1e-9)


def test_every_plant_has_the_inflows_that_the_longest_model_reads(tmp_path):
    """The public Cobre 0.18 refuses a case in which a plant has fewer, also where nothing reads them."""
    case = example_case(tmp_path / "old")
    lags = case.tables[LAGS]
    first = lags["hydro_id"][0]
    kept = [n for n, hydro_id in enumerate(lags["hydro_id"]) if hydro_id == first]
    case.tables[LAGS] = {name: [values[n] for n in kept] for name, values in lags.items()}
    convert_case(case.write(), tmp_path / "new")
    observed = json.loads((tmp_path / "new/initial_conditions.json").read_text())["recent_observations"]
    starts = {each["hydro_id"]: [] for each in observed}
    for each in observed:
        starts[each["hydro_id"]].append(each["start_date"])
    hydros = json.loads((tmp_path / "new/system/hydros.json").read_text())["hydros"]
    assert set(starts) == {hydro["id"] for hydro in hydros}
    assert len(starts) > 1
    assert all(dates == starts[first] for dates in starts.values())


def test_a_case_with_every_file_is_a_valid_case_of_018(tmp_path):
    old = full_case(tmp_path / "old").write()
    files, _ = convert_case(old, tmp_path / "new")
    assert "constraints/exchange_factors.json" not in files
    assert "constraints/hydro_unit_group_bounds.parquet" in files
    assert cobre.validate(tmp_path / "new").errors == ()
    case, twin = cobre.load_case(old), cobre.load_case(tmp_path / "new")
    for name in ("thermal", "line", "bus", "pumping", "contract"):
        first, second = getattr(case.tables, name), getattr(twin.tables, name)
        for field in first.__dataclass_fields__:
            wide = twin.horizon.over_blocks(getattr(second, field))
            assert case.horizon.over_blocks(getattr(first, field)) == pytest.approx(wide), field


@pytest.mark.skipif(not CASES, reason=WHERE)
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_public_cases_keep_their_bounds(tmp_path, case):
    convert_case(case, tmp_path / "new")
    assert bounds(tmp_path / "new") == pytest.approx(bounds(case), rel=1e-9)


@pytest.mark.parametrize("seed", [0, 3, 7, 8, 15, 5000, 5001, 5005, 5006, 5008, 5012, 5013, 5027])
def test_random_cases_keep_their_bounds(tmp_path, seed):
    """Cases of all elements of 0.5.1 in which no word has changed its meaning to an effect."""
    write_case(tmp_path / "old", seed, draw_flags(seed))
    convert_case(tmp_path / "old", tmp_path / "new")
    assert bounds(tmp_path / "new") == pytest.approx(bounds(tmp_path / "old"), rel=1e-9)


def test_residuals_that_no_deviations_leave_are_told(tmp_path):
    """A coefficient of 1.2 keeps no variance: 0.18 would refuse the rows, so they are written as they are."""
    case = example_case(tmp_path / "old")
    lags = case.tables[LAGS]
    lags["coefficient"] = [1.2 if lag == 1 else 0.0 for lag in lags["lag"]]
    _, notes = convert_case(case.write(), tmp_path / "new")
    assert "residual_std_ratio was left out: 0.18 derives it from the coefficients" in notes


@pytest.mark.parametrize("seed", range(36))
def test_random_cases_differ_by_changed_meanings_alone(tmp_path, seed):
    """The twin is the same study but for conventions, noise that 0.18 derives by itself, and cut selection."""
    write_case(tmp_path / "old", seed, draw_flags(seed))
    convert_case(tmp_path / "old", tmp_path / "new")
    case = cobre.load_case(tmp_path / "old", config_overrides=FEW)
    twin = cobre.load_case(tmp_path / "new", config_overrides=FEW)
    training = replace(case.config.training, cut_selection=twin.config.training.cut_selection)
    first = replace(case, config=replace(case.config, training=training))
    second = replace(twin, conventions=case.conventions, scenarios=case.scenarios)
    found = cobre.train(second).history["lower_bound"]
    assert found == pytest.approx(cobre.train(first).history["lower_bound"], rel=1e-9)


D_CASES = {
    "d02-single-hydro": 23_640_785 / 9,
    "d03-two-hydro-cascade": 1_391_697.7666667,
    "d04-transmission": 5_264_062_704 / 657,
    "d25-discount-rate": 2_612_094.7035436,
}
"""What the public Cobre 0.18 asserts of its own versions of these cases, which charge .01 for turbined water."""


@pytest.mark.skipif(not CASES, reason=WHERE)
@pytest.mark.parametrize("name", D_CASES)
def test_the_price_of_turbined_water_shifts_optima_as_in_the_public_program(tmp_path, name):
    (case,) = [path for path in CASES if path.name == name]
    convert_case(case, tmp_path / "new")
    path = tmp_path / "new/system/hydros.json"
    document = json.loads(path.read_text())
    for hydro in document["hydros"]:
        hydro["penalties"] = {**(hydro.get("penalties") or {}), "turbined_cost": 0.01}
    path.write_text(json.dumps(document))
    assert cobre.train(tmp_path / "new").final_lower_bound == pytest.approx(D_CASES[name], rel=1e-6)


def small() -> Case018:
    case = Case018([[744.0], [672.0]], [10.0])
    case.add_thermal(50.0, 8.0)
    plant = case.add_hydro(10.0, 50.0, inflow=[2.0, 1.0])
    for limits in (plant["generation"], *plant["unit_groups"]):
        limits.update(max_turbined_m3s=5.0, max_generation_mw=3.0)
    return older(case)


def without_a_limit(case: Case018) -> None:
    rule = {"type": "bound_stalling", "iterations": 3, "tolerance": 1e-6}
    case.documents["config.json"]["training"]["stopping_rules"] = [rule]


def with_another_square_root(case: Case018) -> None:
    entities, matrix = [{"type": "inflow", "id": 0}], [[1.0]]
    group = {"name": "g", "entities": entities, "matrix": matrix}
    profiles = {"default": {"correlation_groups": [group]}}
    case.documents["scenarios/correlation.json"] = {"method": "cholesky", "profiles": profiles}


def with_an_idle_filling(case: Case018) -> None:
    case.documents["initial_conditions.json"]["filling_storage"] = [{"hydro_id": 0, "value_hm3": 1.0}]


def with_a_larger_turbine_in_a_stage(case: Case018) -> None:
    case.tables["constraints/hydro_bounds.parquet"] = [
        {"hydro_id": 0, "stage_id": 1, "max_turbined_m3s": 9.0, "max_generation_mw": 8.0}
    ]


REFUSED_BY_018 = [
    without_a_limit,
    with_another_square_root,
    with_an_idle_filling,
    with_a_larger_turbine_in_a_stage,
]


@pytest.mark.parametrize("change", REFUSED_BY_018)
def test_settings_that_0_18_refuses_are_replaced(tmp_path, change):
    case = small()
    change(case)
    old = case.write(tmp_path / "old")
    convert_case(old, tmp_path / "new")
    assert cobre.validate(tmp_path / "new").errors == ()
    found = cobre.train(tmp_path / "new").final_lower_bound
    assert found == pytest.approx(cobre.train(old).final_lower_bound, rel=1e-9)


def test_a_lead_time_is_converted_and_what_was_decided_before_is_asked_for(tmp_path):
    case = small()
    case.documents["system/thermals.json"]["thermals"][0]["gnl_config"] = {"lag_stages": 1}
    old = case.write(tmp_path / "old")
    assert "cobre convert" in cobre.validate(old).errors[0].remedy
    _, notes = convert_case(old, tmp_path / "new")
    assert any("past_anticipated_commitments" in note for note in notes)
    assert [error.rule for error in cobre.validate(tmp_path / "new").errors] == ["5a.15"]


def test_a_case_of_018_is_not_converted(tmp_path):
    convert_case(example_case(tmp_path / "old").write(), tmp_path / "new")
    with pytest.raises(cobre.ValidationError, match=r"is a case of 0\.18 already"):
        convert_case(tmp_path / "new", tmp_path / "newer")
    assert not (tmp_path / "newer").exists()


def test_files_are_as_the_public_program_wants_them(tmp_path):
    """Positions in a list are unsigned, and every plant and bus has statistics in every stage."""
    case = small()
    case.tables["scenarios/noise_openings.parquet"] = [
        {"stage_id": stage, "opening_index": 0, "entity_index": 0, "value": 0.5} for stage in (0, 1)
    ]
    for path in ("scenarios/inflow_seasonal_stats.parquet", "scenarios/load_seasonal_stats.parquet"):
        case.tables[path] = case.tables[path][:1]
    old = case.write(tmp_path / "old")
    convert_case(old, tmp_path / "new")
    openings = pq.read_schema(tmp_path / "new/scenarios/noise_openings.parquet")
    assert {str(openings.field(name).type) for name in ("opening_index", "entity_index")} == {"uint32"}
    for name in ("inflow", "load"):
        table = pq.read_table(tmp_path / f"new/scenarios/{name}_seasonal_stats.parquet")
        assert table["stage_id"].to_pylist() == [0, 1]
    assert bounds(tmp_path / "new") == pytest.approx(bounds(old), rel=1e-9)


def test_prices_of_stages_stay_above_zero(tmp_path):
    """The public Cobre 0.18 refuses a price of 0 in a stage; one of the plant may be 0."""
    old, path = full_case(tmp_path / "old").write(), "new/constraints/penalty_overrides_hydro.parquet"
    convert_case(old, tmp_path / "new")
    written = pq.read_table(tmp_path / path).to_pydict().get("turbined_cost", [])
    assert all(value is None or value > 0.0 for value in written)
    case, twin = cobre.load_case(old), cobre.load_case(tmp_path / "new")
    assert twin.tables.hydro_costs.turbined == pytest.approx(case.tables.hydro_costs.turbined)
