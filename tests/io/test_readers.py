"""Every field of every file is read and checked: wrong types, missing values, unknown names, order of columns."""

from __future__ import annotations

import copy
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import arrow_table, full_case, full_documents, full_tables
from cobre.core.digest import digest
from cobre.io.loading import load, validate
from cobre.io.problems import Problems
from cobre.io.read.catalogue import FILES as FILES_018
from cobre.io.read.catalogue import REQUIRED, files_of
from cobre.io.read.columns import TableFile
from cobre.io.read.generation import OLDER
from cobre.io.read.tables import read_table

FILES = files_of(OLDER)
"""The full case is one of 0.5.1; what both generations have in common is read by the same code."""
DOCUMENTS = [file for file in FILES if not isinstance(file, TableFile)]
TABLES = [file for file in FILES if isinstance(file, TableFile)]
ROWS = {
    "scenarios/inflow_history.parquet": {"hydro_id": [0, 0], "date": [0, 31], "value_m3s": [1.0, 2.0]},
    "scenarios/inflow_annual_component.parquet": {
        "hydro_id": [0], "stage_id": [0], "annual_coefficient": [0.1], "annual_mean_m3s": [5.0], "annual_std_m3s": [1.0]
    },
    "scenarios/noise_openings.parquet": {
        "stage_id": [0, 1], "opening_index": [0, 0], "entity_index": [0, 0], "value": [0.1, 0.2]
    },
    "scenarios/external_inflow_scenarios.parquet": {
        "stage_id": [0], "scenario_id": [0], "hydro_id": [0], "value_m3s": [1.0]
    },
    "scenarios/external_load_scenarios.parquet": {
        "stage_id": [0], "scenario_id": [0], "bus_id": [0], "value_mw": [1.0]
    },
    "scenarios/external_ncs_scenarios.parquet": {"stage_id": [0], "scenario_id": [0], "ncs_id": [0], "value": [0.5]},
    "system/tailrace_curves.parquet": {
        "hydro_id": [0], "family_id": [0], "downstream_reference_level_m": [310.0], "segment_id": [0],
        "outflow_min_m3s": [0.0], "outflow_max_m3s": [900.0], "coefficient_0": [300.0], "coefficient_1": [0.01],
        "coefficient_2": [0.0], "coefficient_3": [0.0], "coefficient_4": [0.0]
    },
    "system/hydro_energy_productivity.parquet": {
        "hydro_id": [0], "stage_id": [1], "equivalent_productivity_mw_per_m3s": [0.9], "reference_outflow_m3s": [300.0],
        "specific_productivity_mw_per_m3s_per_m": [0.009]
    },
}  # fmt: skip
COLUMNS = [(table, column) for table in TABLES for column in table.columns]


def _column_id(pair):
    return f"{pair[0].path}:{pair[1].name}"


def test_the_format_has_44_files_and_had_42_eight_of_them_required():
    assert len(FILES_018) == len({file.path for file in FILES_018}) == 44
    assert len(FILES) == len({file.path for file in FILES}) == 42
    assert sorted(REQUIRED) == sorted(
        "config.json penalties.json stages.json initial_conditions.json system/buses.json system/lines.json "
        "system/hydros.json system/thermals.json".split()
    )


def leaves(value, place=()):
    """Every path into a JSON document that ends at a number, a text, a flag or null."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from leaves(inner, (*place, index))
    else:
        yield place


def fields(documents):
    """One path per field, whatever the list entry."""
    for name, document in documents.items():
        seen = set()
        for place in leaves(document):
            kind = tuple("*" if isinstance(step, int) else step for step in place)
            if kind not in seen:
                seen.add(kind)
                yield name, place


def described(place):
    """The field as messages call it: without the first list entry, which is the entity."""
    steps = list(place)
    if len(steps) > 1 and isinstance(steps[1], int):
        steps = steps[2:]
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


EVERY_FIELD = list(fields(full_documents()))


def test_the_full_case_has_every_kind_of_document():
    assert {name for name, _ in EVERY_FIELD} == {document.path for document in DOCUMENTS}


@pytest.mark.parametrize(("name", "place"), EVERY_FIELD, ids=lambda value: str(value))
def test_a_field_of_the_wrong_type_is_named(case, name, place):
    spot = case.documents[name]
    for step in place[:-1]:
        spot = spot[step]
    spot[place[-1]] = {"wrong": 1}
    wanted = described(place)
    errors = [error for error in validate(case.write()).errors if error.file == name]
    assert any(error.field == wanted for error in errors), [(error.field, str(error)) for error in errors]


def each_column(accepts=lambda column: True):
    """Run a test for each column of each Parquet file that ``accepts`` it."""
    pairs = [pair for pair in COLUMNS if accepts(pair[1])]
    return pytest.mark.parametrize("pair", pairs, ids=_column_id)


@pytest.fixture
def columns(case, pair):
    """The columns of the file, with this one in it."""
    table, column = pair
    columns = case.tables.get(table.path) or copy.deepcopy(ROWS[table.path])
    columns.setdefault(column.name, [None] * len(next(iter(columns.values()))))
    case.tables[table.path] = columns
    return columns


@pytest.fixture
def found(case, pair):
    """The errors of the file's reader about the column."""
    table, column = pair

    def find():
        problems = Problems()
        read_table(case.write_table(table.path), table, problems)
        return [error for error in problems.errors if (error.file, error.field) == (table.path, column.name)]

    return find


@each_column()
def test_a_column_of_text_or_flags_is_a_type_mismatch(columns, found, pair):
    name = pair[1].name
    for word, values in (("string", ["x"]), ("bool", [True])):
        columns[name] = pa.array(values * len(columns[name]))
        (error,) = found()
        assert (error.kind, error.value) == ("TypeMismatch", word)
        assert word in error.message


@each_column()
def test_a_column_may_be_missing_only_if_it_is_optional(columns, found, pair):
    del columns[pair[1].name]
    missing = [error for error in found() if error.kind == "SchemaViolation"]
    assert bool(missing) is not pair[1].is_optional


@each_column()
def test_null_is_refused_unless_it_means_something(columns, found, pair):
    name = pair[1].name
    columns[name] = pa.nulls(len(columns[name]), arrow_table(columns)[name].type)
    missing = [error for error in found() if error.kind == "SchemaViolation"]
    assert bool(missing) is not pair[1].is_nullable


@each_column(lambda column: column.kind == "float")
def test_a_number_must_be_finite(columns, found, pair):
    columns[pair[1].name] = [float("nan")] * len(columns[pair[1].name])
    assert {error.kind for error in found()} == {"OutOfRange"}


@each_column(lambda column: column.low is not None or column.high is not None)
def test_a_number_must_be_in_range(columns, found, pair):
    column = pair[1]
    for limit, outside in ((column.low, -1.0), (column.high, 1.0)):
        if limit is not None:
            columns[column.name][0] = limit + outside
            (error,) = [error for error in found() if error.kind == "OutOfRange"]
            assert f"{limit + outside:g}" in error.message


@each_column(lambda column: column.refers_to)
def test_an_id_must_exist(case, columns, pair):
    table, column = pair
    columns[column.name][0] = 12345
    errors = validate(case.write()).errors
    (error,) = [error for error in errors if (error.file, error.field) == (table.path, column.name)]
    assert (error.kind, error.value) == ("MissingReference", 12345)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.path)
def test_a_row_twice_is_a_duplicate_and_an_unknown_column_a_warning(case, table):
    columns = case.tables.setdefault(table.path, copy.deepcopy(ROWS.get(table.path)))
    for values in columns.values():
        values.append(values[0])
    columns["nonsense"] = [1.0] * len(next(iter(columns.values())))
    report = validate(case.write())
    assert ("DuplicateId", table.path) in {(error.kind, error.file) for error in report.errors}
    (warning,) = [w for w in report.warnings if w.field == "nonsense"]
    assert warning.file == table.path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_an_unknown_key_is_a_warning_that_names_it(case, document):
    case.documents[document.path]["nonsense"] = 3
    case.documents[document.path]["$schema"] = "https://example.com/schema.json"
    report = validate(case.write())
    assert report.valid
    (warning,) = report.warnings
    assert (warning.file, warning.field, warning.value) == (document.path, "nonsense", 3)


def test_unknown_keys_deep_inside_are_named_once(case):
    for hydro in case.documents["system/hydros.json"]["hydros"]:
        hydro["reservoir"]["colour"] = "blue"
    (warning,) = validate(case.write()).warnings
    assert warning.field == "reservoir.colour"
    assert "'blue'" in warning.message
    assert "and 2 more entries" in warning.message
    assert warning.entity == "hydro 0 (UPPER)"


@pytest.mark.parametrize(
    "form", ["int64 ids", "float ids", "dictionary", "non-nullable", "reordered columns", "int means"]
)
def test_the_form_of_a_parquet_file_does_not_matter(case, form):
    folder = case.write()
    before = digest(load(folder))
    for name in case.tables:
        table = pq.read_table(folder / name)
        arrays = dict(zip(table.column_names, table.columns, strict=True))
        for key, values in arrays.items():
            is_id = pa.types.is_integer(values.type)
            if is_id and form == "int64 ids":
                arrays[key] = values.cast(pa.int64())
            elif is_id and form == "float ids":
                arrays[key] = values.cast(pa.float64())
            elif is_id and form == "dictionary":
                arrays[key] = values.dictionary_encode()
            elif (
                form == "int means"
                and not is_id
                and all(v is None or v == int(v) for v in values.to_pylist())
            ):
                arrays[key] = values.cast(pa.int32())
        if form == "reordered columns":
            arrays = dict(reversed(arrays.items()))
        table = pa.table(arrays)
        if form == "non-nullable":
            kinds = [field.with_nullable(table[field.name].null_count > 0) for field in table.schema]
            table = table.cast(pa.schema(kinds))
        pq.write_table(table, folder / name)
    assert digest(load(folder)) == before


def test_dates_and_times_both_give_dates(case):
    history = "scenarios/inflow_history.parquet"
    days = np.array(["2020-01-01", "2020-02-01"], "datetime64[D]")
    for dates in (pa.array(days), pa.array(days.astype("datetime64[ms]"))):
        case.tables[history] = {"hydro_id": [0, 0], "date": dates, "value_m3s": [1.0, 2.0]}
        assert validate(case.write()).valid


def test_a_file_with_a_byte_order_mark_is_read(case):
    case.raw["system/lines.json"] = b"\xef\xbb\xbf" + json.dumps(case.documents["system/lines.json"]).encode()
    assert validate(case.write()).valid


def test_a_table_without_rows_is_no_table(tmp_path):
    case = full_case(tmp_path / "a")
    case.tables["constraints/line_bounds.parquet"] = {
        "line_id": pa.array([], pa.int32()),
        "stage_id": pa.array([], pa.int32()),
        "direct_mw": pa.array([], pa.float64()),
    }
    other = full_case(tmp_path / "b")
    del other.tables["constraints/line_bounds.parquet"]
    first, second = load(case.write()), load(other.write())
    assert digest(first.tables) == digest(second.tables)


def test_every_table_of_the_full_case_is_of_the_format():
    assert set(full_tables()) <= {table.path for table in TABLES}
    assert set(full_tables()) | set(ROWS) == {table.path for table in TABLES}


def test_a_folder_in_place_of_a_file_is_an_error(case):
    (case.path / "scenarios/correlation.json").mkdir(parents=True)
    del case.documents["scenarios/correlation.json"]
    (error,) = validate(case.write()).errors
    assert (error.kind, error.file) == ("MissingFile", "scenarios/correlation.json")


def test_a_missing_folder_is_an_io_error(tmp_path):
    with pytest.raises(cobre.IOError, match="does not exist") as caught:
        cobre.load_case(tmp_path / "nowhere")
    assert caught.value.exit_status == 2
    (tmp_path / "file").write_text("")
    with pytest.raises(cobre.IOError, match="is a file"):
        cobre.validate(tmp_path / "file")
