"""Columns as arrays by scenario: the same whatever the layout, also where scenarios have different rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cobre.io.grids import Fold, read_grid
from cobre.io.simulation_results import SimulationFiles

KEYS = ["stage_id", "block_id", "bus_id"]


def write(folder, rows, is_by_table):
    """``rows`` by scenario: (stage, block, bus, price)."""
    root = folder / "simulation" / "buses"
    columns = ("stage_id", "block_id", "bus_id", "spot_price")

    def table(scenario, found):
        data = {name: [row[k] for row in found] for k, name in enumerate(columns)}
        return pa.table({"scenario_id": pa.array([scenario] * len(found), pa.int32()), **data})

    tables = [table(scenario, found) for scenario, found in enumerate(rows)]
    if is_by_table:
        root.mkdir(parents=True)
        pq.write_table(pa.concat_tables(tables), root / "data.parquet")
        return SimulationFiles(folder)
    for scenario, each in enumerate(tables):
        (root / f"scenario_id={scenario:04d}").mkdir(parents=True)
        pq.write_table(each, root / f"scenario_id={scenario:04d}" / "data.parquet")
    return SimulationFiles(folder)


def by_stage(keys):
    stages, stage = np.unique(keys["stage_id"], return_inverse=True)
    return {"spot_price": Fold.by(stage, len(stages))}


def test_rows_of_a_group_are_added_up(tmp_path):
    rows = [
        [(0, 0, 0, 1.0), (0, 1, 0, 2.0), (1, 0, 0, 4.0)],
        [(0, 0, 0, 10.0), (0, 1, 0, 20.0), (1, 0, 0, 40.0)],
    ]
    for is_by_table in (False, True):
        files = write(tmp_path / str(is_by_table), rows, is_by_table)
        grid = read_grid(files, "buses", KEYS, by_stage)
        assert grid.scenarios.tolist() == [0, 1]
        assert grid.values["spot_price"].tolist() == [[3.0, 4.0], [30.0, 40.0]]


def test_a_scenario_without_a_row_has_no_value_there(tmp_path):
    rows = [[(0, 0, 0, 1.0), (1, 0, 0, 4.0)], [(0, 0, 0, 10.0)]]
    for is_by_table in (False, True):
        files = write(tmp_path / str(is_by_table), rows, is_by_table)
        values = read_grid(files, "buses", KEYS, by_stage).values["spot_price"]
        np.testing.assert_array_equal(values, [[1.0, 4.0], [10.0, np.nan]])


def test_rows_in_another_order_are_found_by_their_keys(tmp_path):
    rows = [[(0, 0, 0, 1.0), (1, 0, 0, 4.0)], [(1, 0, 0, 40.0), (0, 0, 0, 10.0)]]
    for is_by_table in (False, True):
        files = write(tmp_path / str(is_by_table), rows, is_by_table)
        values = read_grid(files, "buses", KEYS, by_stage).values["spot_price"]
        assert values.tolist() == [[1.0, 4.0], [10.0, 40.0]]


def test_null_counts_as_nothing_beside_values(tmp_path):
    rows = [[(0, 0, 0, None), (0, 1, 0, 2.0), (1, 0, 0, None)]]
    values = read_grid(write(tmp_path, rows, False), "buses", KEYS, by_stage).values["spot_price"]
    np.testing.assert_array_equal(values, [[2.0, np.nan]])


def test_weights_and_unused_rows():
    fold = Fold.by(np.array([1, -1, 0, 1]), 2, np.array([0.5, 9.0, 2.0, 0.25]))
    assert fold(np.array([4.0, 100.0, 3.0, 8.0])).tolist() == [6.0, 4.0]
