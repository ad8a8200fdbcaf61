"""Files of scenarios read by the compiled core: what Arrow reads, and nothing where Arrow must look itself."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobre._native import output
from cobre.core.simulation_tables import BUSES
from cobre.errors import CobreError
from cobre.io.grids import Fold, columns_in_turn, read_grid
from cobre.io.simulation_results import SimulationFiles
from cobre.io.write.scenario_files import write_scenarios
from cobre.study.queries.fans import SHARES, fan_of

KEYS = ["stage_id", "block_id", "bus_id"]
NAMES = ["packed", "plain", "constant", "gaps", "nothing", "few"]


def write(folder, rows, scenarios=3):
    """A table with a column of every kind that the writer knows; its path by scenario."""
    random = np.random.default_rng(rows)
    table = output.ScenarioTable(scenarios, rows)
    n = scenarios * rows
    plain = random.normal(size=n)
    marks = (random.random(n) < 0.6).astype(np.uint8)
    numbers = np.arange(rows, dtype=np.int32)
    few = np.repeat(random.normal(size=rows // 4 + 1), 4)[:rows]
    values = {
        "packed": (few, None, False),
        "plain": (plain, None, False),
        "constant": (np.full(n, -0.0), None, True),
        "gaps": (plain, marks, True),
        "nothing": (plain, np.zeros(n, dtype=np.uint8), True),
        "few": (np.where(few > 0, few, 0.0), (few > 0).astype(np.uint8), True),
    }
    table.add_integers("key", numbers, None, False, 32)
    for name, (column, is_valid, is_nullable) in values.items():
        shape = rows if len(column) == rows else (scenarios, rows)
        table.add_floats(
            name, column.reshape(shape), None if is_valid is None else is_valid.reshape(shape), is_nullable
        )
    table.write(str(folder), 0)
    return [folder / f"scenario_id={k:04d}" / "data.parquet" for k in range(scenarios)]


def read(reader, path):
    """None where the reader leaves the file to others."""
    values = [np.full(reader.rows, 7.0) for _ in NAMES]
    return values if reader.read(str(path), values) else None


def by_arrow(path):
    table = pq.ParquetFile(path).read(columns=["key", *NAMES])
    return [table[name].to_numpy() for name in NAMES], table["key"].to_pylist()


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 1000, 20_000])
def test_values_are_those_that_arrow_reads(tmp_path, rows):
    paths = write(tmp_path, rows)
    reader = output.ScenarioReader(str(paths[0]), ["key"], NAMES)
    assert (reader.is_usable, reader.rows) == (True, rows)
    for path in paths:
        for mine, theirs in zip(read(reader, path), by_arrow(path)[0], strict=True):
            np.testing.assert_array_equal(mine, theirs.astype(np.float64))
            assert (np.signbit(mine) == np.signbit(theirs))[~np.isnan(mine)].all()


def test_a_damaged_file_is_never_misread(tmp_path):
    """Every byte changed, and every length: either left to Arrow, or read as Arrow reads it."""
    paths = write(tmp_path, 9, 2)
    reader = output.ScenarioReader(str(paths[0]), ["key"], NAMES)
    whole = paths[1].read_bytes()
    assert read(reader, paths[1]) is not None
    n_read = 0
    with paths[1].open("r+b", buffering=0) as file:
        for place, byte in enumerate(whole):
            os.pwrite(file.fileno(), bytes([byte ^ (0x01, 0x80, 0xFF)[place % 3]]), place)
            found = read(reader, paths[1])
            if found is not None:
                n_read += 1
                expected, keys = by_arrow(paths[1])
                assert keys == list(range(9))
                for mine, theirs in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(mine, theirs, f"byte {place}")
            os.pwrite(file.fileno(), bytes([byte]), place)
        assert 0 < n_read < len(whole) / 2  # values themselves have no checksum
        for length in range(len(whole) - 1, -1, -1):
            file.truncate(length)
            assert read(reader, paths[1]) is None
    paths[1].unlink()
    assert read(reader, paths[1]) is None
    (tmp_path / "folder").mkdir()
    assert not output.ScenarioReader(str(tmp_path / "folder"), ["key"], NAMES).is_usable


def test_files_of_other_programs_are_read_by_arrow(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(
        pa.table({"key": [0, 1], "value": [1.0, 2.0]}), path, compression="none", use_dictionary=False
    )
    assert not output.ScenarioReader(str(path), ["key"], ["value"]).is_usable
    own = write(tmp_path, 2)
    assert not output.ScenarioReader(str(own[0]), ["key"], ["unknown"]).is_usable
    assert not output.ScenarioReader(str(own[0]), ["unknown"], NAMES).is_usable
    assert not output.ScenarioReader(str(own[0]), [], ["key"]).is_usable  # no doubles
    reader = output.ScenarioReader(str(own[0]), ["key"], NAMES)
    assert not reader.read(str(path), [np.empty(2) for _ in NAMES])
    with pytest.raises(ValueError, match="one array per column"):
        reader.read(str(own[1]), [np.empty(2)])
    with pytest.raises(ValueError, match="one per row"):
        reader.read(str(own[1]), [np.empty(3) for _ in NAMES])


def simulated(folder):
    """Prices ``[scenario, row]`` at 2 buses in 3 blocks of 4 stages, as a run writes them."""
    stage, block, bus = (each.ravel().astype(np.int32) for each in np.indices((4, 3, 2)))
    prices = np.random.default_rng(0).normal(size=(5, 24))
    columns = {"stage_id": stage, "block_id": block, "bus_id": bus}
    for column in BUSES:
        if column.name not in columns:
            columns[column.name] = prices if column.type == "f64" else np.zeros(24)
    write_scenarios(folder / "simulation" / "buses", BUSES, columns, range(5))
    return SimulationFiles(folder), prices


def by_stage(keys):
    return {name: Fold.by(keys["stage_id"], 4) for name in ("spot_price", "load_mwh")}


def test_one_file_of_another_program_changes_nothing(tmp_path):
    files, prices = simulated(tmp_path)
    path = files.files("buses")[2]
    pq.write_table(pq.ParquetFile(path).read(), path, compression="zstd")
    expected = prices.reshape(5, 4, 6).sum(axis=2)
    grid = read_grid(files, "buses", KEYS, by_stage).values
    np.testing.assert_allclose(grid["spot_price"], expected, rtol=1e-12)
    turns = [(name, values.copy()) for name, values in columns_in_turn(files, "buses", KEYS, by_stage)]
    assert [name for name, _ in turns] == ["spot_price", "load_mwh"]
    for name, values in turns:
        assert values.tobytes() == grid[name].tobytes()


@pytest.mark.parametrize("read", [read_grid, lambda *given: list(columns_in_turn(*given))])
def test_a_damaged_scenario_is_an_error_that_names_the_table(tmp_path, read):
    files, _ = simulated(tmp_path)
    for path in (files.files("buses")[0], files.files("buses")[3]):
        whole = path.read_bytes()
        for n in (0, 3, 11, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:n])
            with pytest.raises(CobreError, match="buses is damaged"):
                read(files, "buses", KEYS, by_stage)
        pq.write_table(pa.table({"stage_id": [0]}), path)
        with pytest.raises(CobreError, match=r"damaged.*no column"):
            read(files, "buses", KEYS, by_stage)
        path.write_bytes(whole)
    read(files, "buses", KEYS, by_stage)


@pytest.mark.parametrize("n", [1, 2, 48, 49, 1000])
def test_quantiles_are_those_of_sorted_values(n):
    random = np.random.default_rng(n)
    places = [
        random.lognormal(4.0, 1.0, n),
        random.permutation(n).astype(float),
        np.where(random.random(n) < 0.9, 0.0, random.lognormal(size=n)),
        np.full(n, 3.0),
        random.normal(size=n) * 10.0 ** random.integers(-300, 300, n).astype(float),
        random.choice([1e308, -1e308], n),  # their difference is no number
        random.choice([5e-324, 0.0], n),
        np.where(np.arange(n) == n // 2, np.nan, 1.0),
        np.where(np.arange(n) == 0, np.nan, random.normal(size=n)),
    ]
    values = np.tile(np.stack(places, axis=1), (1, 9))  # more places than are taken at a time
    ordered = np.sort(values, axis=0)
    with np.errstate(over="ignore"):
        fan = fan_of(values)
        for share, found in zip(SHARES, fan.quantiles, strict=True):
            low = int(share * (n - 1))
            high = min(low + 1, n - 1)
            expected = ordered[low] + (share * (n - 1) - low) * (ordered[high] - ordered[low])
            expected[np.isnan(ordered[-1])] = np.nan
            np.testing.assert_array_equal(found, expected)


def test_infinite_values_have_ranks_too():
    values = np.array([[np.inf], [1.0], [-np.inf], [2.0]] * 20)
    found = np.empty((1, 4))
    output.values_at_ranks(values, [0, 20, 40, 79], found)
    assert found.tolist() == [[-np.inf, 1.0, 2.0, np.inf]]
    for ranks in ([80], [1, 0]):
        with pytest.raises(ValueError, match="ranks"):
            output.values_at_ranks(values, ranks, np.empty((1, len(ranks))))
    with pytest.raises(ValueError, match="side by side"):
        output.values_at_ranks(np.asfortranarray(np.ones((3, 2))), [0], np.empty((2, 1)))
    with pytest.raises(ValueError, match="a row per place"):
        output.values_at_ranks(values, [0], np.empty((2, 1)))
