"""Every file of a run has the columns of the public layout: their names, order and types, and where null may stand."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import full_case
from cobre.core.arrow import ARROW_TYPES
from short_runs import LEVEL_1, iterations, run_in
from simulation.public_columns import (
    CODES,
    HYDRO_MODELS,
    METADATA,
    OTHERS,
    PROVENANCE,
    SIMULATION,
    TRAINING,
    TRAINING_METADATA,
)

N = 3
SETTINGS = iterations(2, forward_passes=2, cut_selection=LEVEL_1)


def run(folder, layout):
    settings = {**SETTINGS, "exports": {"layout": layout, "stochastic": layout == "by_scenario"}}
    return run_in(full_case(folder).write(), settings, N)


@pytest.fixture(scope="module")
def by_scenario(tmp_path_factory):
    return run(tmp_path_factory.mktemp("by_scenario"), "by_scenario")


@pytest.fixture(scope="module")
def by_table(tmp_path_factory):
    return run(tmp_path_factory.mktemp("by_table"), "by_table")


def wanted(text):
    """``(name, type, nullable)`` of each column."""
    found = []
    for word in text.split():
        name, _, kind = word.partition(":")
        found.append((name, ARROW_TYPES[kind.removesuffix("?")], kind.endswith("?")))
    return found


def assert_columns(path, text):
    assert path.exists(), path
    columns = wanted(text)
    schema = pq.read_schema(path)
    assert [(field.name, field.type, field.nullable) for field in schema][: len(columns)] == columns
    for name, _, is_nullable in columns:
        assert is_nullable or pq.read_table(path)[name].null_count == 0, (path, name)


def is_single(name):
    return name in ("paths", "scenario_summary") or name.startswith("solver/")


@pytest.mark.parametrize("name", SIMULATION)
def test_files_by_scenario(by_scenario, name):
    root = by_scenario / "simulation"
    if is_single(name):
        assert_columns(root / f"{name}.parquet", SIMULATION[name])
        return
    folders = sorted(path.name for path in (root / name).iterdir())
    assert folders == [f"scenario_id={scenario:04d}" for scenario in range(N)]
    for scenario, folder in enumerate(folders):
        path = root / name / folder / "data.parquet"
        assert_columns(path, SIMULATION[name])
        assert set(pq.ParquetFile(path).read()["scenario_id"].to_pylist()) == {scenario}
        assert [each.name for each in path.parent.iterdir()] == ["data.parquet"]


@pytest.mark.parametrize("name", SIMULATION)
def test_files_by_table(by_table, name):
    root = by_table / "simulation"
    path = root / f"{name}.parquet" if is_single(name) else root / name / "data.parquet"
    assert_columns(path, SIMULATION[name])
    if not is_single(name):
        assert [each.name for each in path.parent.iterdir()] == ["data.parquet"]


def test_both_layouts_hold_the_same_rows(by_scenario, by_table):
    one, other = (cobre.load_results(folder).simulation for folder in (by_scenario, by_table))
    assert one.tables == other.tables
    for name in one.tables:
        assert one.table(name).equals(other.table(name)), name


@pytest.mark.parametrize("name", TRAINING)
def test_training_files(by_scenario, name):
    assert_columns(by_scenario / "training" / f"{name}.parquet", TRAINING[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_files(by_scenario, name):
    assert_columns(by_scenario / f"{name}.parquet", OTHERS[name])


def test_a_cut_selection_has_its_table(by_scenario):
    found = pq.read_table(by_scenario / "training/cut_selection/iterations.parquet")
    assert set(found["iteration"].to_pylist()) == {1, 2}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("entities.csv", "entity_type_code,entity_id,name,bus_id,system_id"),
        ("variables.csv", "file,column,type,unit,description,nullable"),
    ],
)
def test_headers_of_csv_dictionaries(by_scenario, name, columns):
    text = (by_scenario / "training/dictionaries" / name).read_text(encoding="utf-8")
    assert text.splitlines()[0] == columns


def test_variables_describes_every_column_that_is_written(by_scenario):
    with (by_scenario / "training/dictionaries/variables.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    described = {(row["file"], row["column"]): row for row in rows}
    for path in set(by_scenario.rglob("*.parquet")) - set((by_scenario / "stochastic").iterdir()):
        parts = path.relative_to(by_scenario).with_suffix("").parts
        file = "/".join(part for part in parts if part != "data" and not part.startswith("scenario_id="))
        for field in pq.read_schema(path):
            row = described[file, field.name]
            assert ARROW_TYPES[row["type"]] == field.type
            assert row["nullable"] == str(field.nullable).lower()
            assert row["description"]


def keys_of(value, prefix=""):
    """Dotted names of all that is no object; of a list's entries with ``[]``."""
    if isinstance(value, dict):
        return {name for key, inner in value.items() for name in keys_of(inner, f"{prefix}.{key}")}
    if isinstance(value, list):
        inside = {name for inner in value for name in keys_of(inner, f"{prefix}[]")}
        return inside or {f"{prefix}[]".removeprefix(".")}
    return {prefix.removeprefix(".")}


def test_keys_of_the_simulation_metadata(by_scenario):
    found = json.loads((by_scenario / "simulation/metadata.json").read_text(encoding="utf-8"))
    assert set(METADATA.split()) <= keys_of(found)


def test_keys_of_the_training_metadata(by_scenario):
    found = json.loads((by_scenario / "training/metadata.json").read_text(encoding="utf-8"))
    assert set(TRAINING_METADATA.split()) <= keys_of(found)


@pytest.mark.parametrize(("name", "keys"), [("hydro_models", HYDRO_MODELS), ("model_provenance", PROVENANCE)])
def test_keys_of_the_files_about_models(by_scenario, name, keys):
    found = json.loads((by_scenario / f"training/{name}.json").read_text(encoding="utf-8"))
    assert set(keys.split()) == keys_of(found)


def test_codes_are_explained(by_scenario):
    found = json.loads((by_scenario / "training/dictionaries/codes.json").read_text(encoding="utf-8"))
    assert set(CODES.split()) <= found.keys()
    for name in ("entity_type", "contract_type", "bound_type", "operative_state", "storage_binding"):
        assert list(found[name]) == sorted(found[name], key=int)
        assert list(found[name]) == [str(code) for code in range(len(found[name]))]


def test_every_code_in_a_table_is_explained(by_scenario):
    codes = json.loads((by_scenario / "training/dictionaries/codes.json").read_text(encoding="utf-8"))
    simulation = cobre.load_results(by_scenario).simulation
    for table in simulation.tables:
        rows = simulation.table(table)
        for column in ("operative_state_code", "storage_binding_code"):
            if column in rows.column_names:
                used = {str(code) for code in rows[column].to_pylist()}
                assert used <= codes[column.removesuffix("_code")].keys()


def test_limits_of_lines_are_given_by_block_only_where_blocks_differ(by_scenario):
    rows = pq.read_table(by_scenario / "training/dictionaries/bounds.parquet").to_pylist()
    lines = [row for row in rows if row["entity_type_code"] == 3 and row["entity_id"] == 0]
    limits = {}
    for row in lines:
        limits.setdefault((row["stage_id"], row["bound_type_code"]), []).append(
            (row["block_id"], row["bound_value"])
        )
    assert len(limits) == 24
    assert {key for key, values in limits.items() if values[0][0] is not None} == {(7, 8), (7, 9)}
    assert all(len(values) == 1 for key, values in limits.items() if key[0] != 7)
    assert [block for block, _ in limits[7, 9]] == [0, 1, 2]
    assert [value for _, value in limits[7, 9]] == [500.0, 450.0, 500.0]
