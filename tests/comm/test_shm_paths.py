"""Payloads that go straight from one rank's memory into another's, and what happens when that is refused."""

from __future__ import annotations

import pytest

from shm_ranks import run

REFUSE_READS = """
import ctypes
comm.barrier()
if os.getuid() == 0:  # who may read everything
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
PR_SET_DUMPABLE = 4
assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
comm.barrier()
"""


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_that_may_not_read_each_other_any_more_use_the_rings(size):
    ranks = run(
        size,
        f"""
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=20))
{REFUSE_READS}
n = 70_001
steps = np.arange(n)
for call in range(12):
    small = np.empty(6, dtype=np.int64)  # what travelled in a slot must not be taken for what is said in the next
    comm.allreduce(np.full(6, 1000 + call), small, "sum")
    total, parts = np.full(n, -1), np.full(size * n, -1)
    comm.allreduce(steps % 97 + rank + call, total, "sum")
    assert (total == size * (steps % 97 + call) + sum(range(size))).all(), call
    comm.allgatherv(steps + rank * call, parts, [n] * size, range(0, size * n, n))
    assert all((parts[r * n : (r + 1) * n] == steps + r * call).all() for r in range(size)), call
    buf = steps * call if rank == 1 else np.full(n, -1)
    comm.broadcast(buf, 1)
    assert (buf == steps * call).all(), call
""",
    )
    assert [rank.exit_code for rank in ranks] == [0] * size, "".join(rank.output for rank in ranks)
