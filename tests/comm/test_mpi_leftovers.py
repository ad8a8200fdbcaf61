"""What aborted MPI jobs left in shared memory is found; what a running one has there is left alone."""

from __future__ import annotations

import mmap
import os
import time

import pytest

from cobre.comm.backends.mpi.leftovers import find_leftovers
from cobre.comm.doctor import find_leftovers as find_all

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def segment(tmp_path):
    """Make a file of that name that is so many seconds old."""

    def make(name, age_s=3600.0):
        path = tmp_path / name
        path.write_bytes(bytes(4096))
        os.utime(path, (time.time() - age_s,) * 2)
        return path

    return make


@pytest.mark.parametrize("name", ["mpich_shm_12ab_0", "sm_segment.host.0.1234"])
def test_what_nobody_has_mapped_is_a_leftover_and_can_be_removed(segment, tmp_path, name):
    path = segment(name)
    segment("cobre_something_else")
    [found] = find_leftovers(tmp_path)
    assert (found.path, found.bytes, found.is_in_use) == (str(path), 4096, False)
    assert "killed or aborted" in found.owner
    assert found.remove()
    assert not path.exists()
    assert not found.remove()


def test_what_a_process_has_mapped_is_in_use(segment, tmp_path):
    path = segment("mpich_shm_1_0")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert [found.is_in_use for found in find_leftovers(tmp_path)] == [True]
    assert [found.is_in_use for found in find_leftovers(tmp_path)] == [False]


def test_what_is_new_may_belong_to_ranks_that_are_just_starting(segment, tmp_path):
    segment("mpich_shm_1_0", age_s=5.0)
    assert [found.is_in_use for found in find_leftovers(tmp_path)] == [True]


def test_the_doctor_asks_for_them(segment, tmp_path, monkeypatch):
    path = segment("mpich_shm_1_0")
    monkeypatch.setattr("cobre.comm.backends.mpi.leftovers.find_leftovers.__defaults__", (tmp_path,))
    assert str(path) in [found.path for found in find_all()]
