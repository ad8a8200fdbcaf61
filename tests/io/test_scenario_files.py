"""The Parquet files that the compiled core writes are those that Arrow reads, value by value."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from cobre.core.arrow import arrow_table
from cobre.core.outputs import Column, TableSchema
from cobre.errors import IOError
from cobre.io.write.scenario_files import write_scenarios
from commands import run_command

SCHEMA = TableSchema(
    "everything",
    (
        Column("scenario_id", "i32", "", ""),
        Column("stage_id", "i32", "", ""),
        Column("code", "i8", "", ""),
        Column("is_open", "bool", "", ""),
        Column("constant", "f64", "MW", ""),
        Column("varied", "f64", "MW", ""),
        Column("fixed", "f64", "MW", ""),
        Column("sometimes", "f64", "MW", "", is_nullable=True),
        Column("never", "f64", "MW", "", is_nullable=True),
        Column("fixed_never", "f64", "MW", "", is_nullable=True),
        Column("fixed_sometimes", "i32", "", "", is_nullable=True),
        Column("always", "f64", "MW", "", is_nullable=True),
        Column("constant_or_null", "f64", "MW", "", is_nullable=True),
        Column("plant_id", "i32", "", "", is_nullable=True),
        Column("maybe_open", "bool", "", "", is_nullable=True),
    ),
)


def columns_of(n_scenarios: int, n_rows: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(n_rows)
    shape = (n_scenarios, n_rows)
    is_there = random.random(shape) < 0.6
    return {
        "stage_id": random.integers(0, max(1, n_rows // 4), n_rows, dtype=np.int32),
        "code": random.integers(-128, 128, shape).astype(np.int8),
        "is_open": random.random(shape) < 0.5,
        "constant": np.full(shape, -0.0),
        "varied": random.standard_normal(shape),
        "fixed": random.integers(0, 3, n_rows).astype(float),
        "sometimes": np.where(is_there, random.standard_normal(shape), np.nan),
        "never": np.full(shape, np.nan),
        "fixed_never": np.full(n_rows, np.nan),
        "fixed_sometimes": np.where(is_there[0], random.integers(0, 5, n_rows), np.nan),
        "always": random.standard_normal(shape),
        "constant_or_null": np.where(is_there, 7.5, np.nan),
        "plant_id": np.where(is_there, random.integers(-5, 1 << 30, shape), np.nan),
        "maybe_open": np.where(is_there, 1.0, np.nan),
    }


# 300 and 5,000 distinct values in a fixed column: indices of more than a byte, and no dictionary at all.
@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 9, 64, 1200, 20_000])
@pytest.mark.parametrize("n_scenarios", [1, 3])
def test_arrow_reads_the_values_and_types_that_were_written(tmp_path, n_scenarios, n_rows):
    columns = columns_of(n_scenarios, n_rows)
    write_scenarios(tmp_path / "table", SCHEMA, columns, range(9_998, 9_998 + n_scenarios))
    for place, scenario in enumerate(range(9_998, 9_998 + n_scenarios)):
        of_scenario = {
            name: values[place] if values.ndim == 2 else values for name, values in columns.items()
        }
        of_scenario["scenario_id"] = np.full(n_rows, scenario, dtype=np.int32)
        expected = arrow_table(SCHEMA, of_scenario)
        found = pq.ParquetFile(tmp_path / f"table/scenario_id={scenario:04d}/data.parquet").read()
        assert found.schema == expected.schema
        assert found.equals(expected)
        assert np.signbit(found["constant"].to_numpy()).all()
        found.validate(full=True)


def test_the_bytes_of_a_scenario_do_not_depend_on_how_many_are_written_at_once(tmp_path):
    columns = columns_of(3, 20)
    write_scenarios(tmp_path / "together", SCHEMA, columns, range(3))
    for place in range(3):
        alone = {name: v[place : place + 1] if v.ndim == 2 else v for name, v in columns.items()}
        write_scenarios(tmp_path / "alone", SCHEMA, alone, range(place, place + 1))
        name = f"scenario_id={place:04d}/data.parquet"
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()


READ_BY_POLARS = """
import sys
import polars
import pyarrow.parquet
for path in sys.argv[1:]:
    found = polars.read_parquet(path, hive_partitioning=False).to_arrow()
    assert found.to_pylist() == pyarrow.parquet.ParquetFile(path).read().to_pylist()
print("same")
"""


def test_another_reader_reads_the_same(tmp_path):
    write_scenarios(tmp_path / "table", SCHEMA, columns_of(2, 100), range(2))
    paths = [str(path) for path in (tmp_path / "table").rglob("*.parquet")]
    done = run_command([sys.executable, "-c", READ_BY_POLARS, *paths])
    assert (len(paths), done.stdout) == (2, "same\n"), done.stderr


def test_a_table_without_rows_has_no_files(tmp_path):
    write_scenarios(tmp_path / "table", SCHEMA, columns_of(2, 0), range(2))
    assert not (tmp_path / "table").exists()


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    (tmp_path / "table/scenario_id=0001/data.parquet").mkdir(parents=True)
    with pytest.raises(IOError, match=r"scenario_id=0001/data.parquet: Is a directory"):
        write_scenarios(tmp_path / "table", SCHEMA, columns_of(3, 5), range(3))
    assert not list(tmp_path.rglob(".*"))
    assert not (tmp_path / "table/scenario_id=0002").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "table").write_text("")
    with pytest.raises(IOError, match="table: File exists"):
        write_scenarios(tmp_path / "table", SCHEMA, columns_of(1, 5), range(1))
