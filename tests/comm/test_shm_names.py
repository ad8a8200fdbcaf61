"""Regions never have a name that could be left behind, but where ranks may not look into each other."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from shm_ranks import Ranks, run

TRIALS = 12


def _names_of(pids):
    """Names of regions end with the pid, start and namespace of who made them; those of other programs are theirs."""
    names, numbers = Path("/dev/shm").glob("cobre_comm_region_*"), set(map(str, pids))
    return {path for path in names if path.name.split("_")[-3] in numbers}


def test_killing_all_ranks_while_they_make_regions_leaves_nothing():
    body = """
comm = ShmCommunicator.attach(config())
say(ready=True)
while True:
    comm.create_shared_region(1000)
"""
    pids = []
    for trial in range(TRIALS):
        with Ranks(3, body) as ranks:
            for rank in ranks.ranks:
                assert rank.process.stdout.readline(), "it ended by itself"
            time.sleep(0.002 * trial)
            for rank in ranks.ranks:
                rank.process.send_signal(signal.SIGKILL)
        pids += [rank.process.pid for rank in ranks.ranks]
    assert not _names_of(pids)


def test_regions_work_without_access_to_memory_of_other_ranks():
    ranks = run(
        3,
        """
import ctypes
comm = ShmCommunicator.attach(config())
if os.getuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
PR_SET_DUMPABLE = 4
assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
comm.barrier()
region = comm.create_shared_region(3, "i4")
region.as_mut_block(rank, 1)[:] = rank + 1
region.fence()
assert region.as_slice().tolist() == [1, 2, 3]
""",
    )
    assert [rank.exit_code for rank in ranks] == [0, 0, 0], "".join(rank.output for rank in ranks)
    assert not _names_of(rank.process.pid for rank in ranks)
