"""Tables that are written in groups of rows: bytes that depend on the rows alone, and nothing left of a failed file."""

from __future__ import annotations

import errno
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

import cobre
from cobre.core.arrow import arrow_table
from cobre.core.simulation_tables import PATHS
from cobre.io.write import parquet
from cobre.io.write.parquet import GroupedFile

N_ROWS = 23
GROUP = 5


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", GROUP)


def rows(first, last):
    numbers = np.arange(first, last, dtype=np.int32)
    return arrow_table(PATHS, dict.fromkeys(PATHS.column_names, numbers))


def written(path, *ends):
    file = GroupedFile(path, PATHS)
    for first, last in zip((0, *ends), (*ends, N_ROWS), strict=True):
        file.append(rows(first, last))
    file.close()
    return path.read_bytes()


def test_the_bytes_do_not_depend_on_how_rows_arrive(tmp_path):
    whole = written(tmp_path / "whole.parquet")
    assert pq.read_table(tmp_path / "whole.parquet")["stage_id"].to_pylist() == list(range(N_ROWS))
    groups = pq.ParquetFile(tmp_path / "whole.parquet").metadata
    assert [groups.row_group(k).num_rows for k in range(groups.num_row_groups)] == [5, 5, 5, 5, 3]
    for ends in ([1, 2, 3], [5, 10], [4, 19], range(1, N_ROWS)):
        assert written(tmp_path / "split.parquet", *ends) == whole


def test_a_file_that_is_abandoned_leaves_nothing(tmp_path):
    file = GroupedFile(tmp_path / "data.parquet", PATHS)
    file.append(rows(0, N_ROWS))
    assert not (tmp_path / "data.parquet").exists()
    file.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_at_the_end_leaves_nothing_and_is_named(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = GroupedFile(tmp_path / "data.parquet", PATHS)
    file.append(rows(0, N_ROWS))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(cobre.IOError, match=r"data\.parquet"):
        file.close()
    assert list(tmp_path.iterdir()) == []
