"""The exported schemas describe the files that the readers accept."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import full_case
from cobre.io.convert import convert_case
from cobre.io.read.catalogue import DOCUMENTS, FILES, TABLES
from cobre.io.schemas import export_schemas, schemas


@pytest.fixture(scope="module")
def case_018(tmp_path_factory):
    """A case of 0.18 with nearly every file."""
    folder = tmp_path_factory.mktemp("schemas")
    convert_case(full_case(folder / "old").write(), folder / "new")
    return folder / "new"


def test_there_is_one_per_file(tmp_path):
    written = export_schemas(tmp_path / "new" / "schemas")
    assert len(written) == len({path.name for path in written}) == 44
    assert [json.loads(path.read_text())["title"] for path in written] == [file.path for file in FILES]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_a_document_s_schema_has_its_keys(case_018, document):
    schema = schemas()[document.path]
    keys = (
        set(json.loads((case_018 / document.path).read_text()))
        if (case_018 / document.path).exists()
        else set()
    )
    assert keys <= set(schema["properties"])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.path)
def test_a_table_s_schema_has_its_columns(case_018, table):
    schema = schemas()[table.path]
    path = case_018 / table.path
    columns = set(pq.read_schema(path).names) if path.exists() else set()
    assert columns <= set(schema["items"]["properties"])
    assert set(schema["items"]["required"]) == {c.name for c in table.columns if not c.is_optional}
    assert schema["x-unique"] == list(table.key)
    kinds = {name: each["x-parquet-type"] for name, each in schema["items"]["properties"].items()}
    assert kinds[table.key[0]] == "INT32"


def test_ranges_and_choices_are_in_the_schemas():
    every = schemas()
    lines = every["system/lines.json"]["$defs"]["LineRecord"]["properties"]["losses_percent"]
    assert {"type": "number", "minimum": 0, "exclusiveMaximum": 100} in lines["anyOf"]
    stages = every["stages.json"]["$defs"]
    assert stages["CvarRecord"]["required"] == ["alpha", "lambda"]
    ratio = every["scenarios/inflow_ar_coefficients.parquet"]["items"]["properties"]["residual_std_ratio"]
    assert (ratio["exclusiveMinimum"], ratio["maximum"]) == (0.0, 1.0)


def test_a_folder_that_cannot_be_made_is_an_io_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cobre.IOError, match="cannot write schemas"):
        export_schemas(tmp_path / "file" / "schemas")
