from __future__ import annotations

import numpy as np
import pytest

from cobre.comm import run
from cobre.sddp.sharing import share

VALUE = {
    "a": np.arange(5.0),
    "name": "x",
    "empty": np.empty((0, 3)),
    "b": np.arange(12, dtype=np.int32).reshape(3, 4),
}


def _shared(comm):
    value = share(comm, VALUE if comm.rank == 0 else None)
    writable = [value[key].flags.writeable for key in ("a", "b")]
    return value, writable


@pytest.mark.parametrize(("n_ranks", "backend"), [(1, "local"), (3, "shm"), (2, "tcp")])
def test_every_rank_reads_the_data_of_rank_0(n_ranks, backend):
    for value, writable in run(_shared, num_workers=n_ranks, backend=backend):
        assert value["name"] == "x"
        for key in ("a", "b", "empty"):
            assert value[key].dtype == VALUE[key].dtype
            assert np.array_equal(value[key], VALUE[key])
        assert writable == [False, False]


def _plain(comm):
    return share(comm, {"why": "nothing to share", "none": np.empty(0)} if comm.rank == 0 else None)


def test_objects_without_arrays_are_shared_as_well():
    for value in run(_plain, num_workers=3):
        assert value["why"] == "nothing to share"
        assert value["none"].shape == (0,)
