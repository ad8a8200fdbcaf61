"""Payloads that go straight from one rank's memory into another's, when that is refused or a rank gives up."""

from __future__ import annotations

import signal

import pytest

from shm_ranks import Ranks, run
from system_calls import HOLD_SYSTEM_CALL

# The paths are tried in turn at first, so every third call of a size reads directly.
DIRECT = 2

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
comm = ShmCommunicator.attach(config())
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


def test_a_payload_in_the_slot_takes_no_room_in_the_ring():
    ranks = run(
        4,
        """
comm = ShmCommunicator.attach(config())
region = comm.create_shared_region(4, "i8")
steps = np.arange(200)  # 25 pieces: each is handed from rank to rank, which takes long on a busy machine
for call in range(20):
    few = region.as_mut_block(0, 4) if rank == 0 else np.empty(4, dtype="i8")
    comm.allreduce(np.full(4, call), few, "sum")
    total = np.empty(200, dtype="i8")
    comm.allreduce(steps * rank + call, total, "sum")
    assert (total == 6 * steps + 4 * call).all(), call
""",
        COBRE_COMM_LIMITS="chunk_bytes=64,ring_bytes=64",
    )
    assert [rank.exit_code for rank in ranks] == [0] * 4, "".join(rank.output for rank in ranks)


HELD_WHILE_IT_READS = """
n = 24 << 20  # three pieces
buf = np.full(n, 7 * (rank == 0), "u1")
comm = ShmCommunicator.attach(config(timeout=TIMEOUT))
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, handler)
for _ in range(DIRECT):
    comm.broadcast(buf, 0)
if rank == 1:
    buf[:] = 0
    def before(piece):
        if piece == 1:
            say(held=True)
            linger()
    hold_system_call("process_vm_readv", before)
comm.barrier()
if rank == 0:
    try:
        comm.broadcast(buf, 0)
    except (CollectiveFailed, KeyboardInterrupt) as error:
        buf[:] = 1
        say(error=type(error).__name__)
    linger()
else:
    attempt(comm.broadcast, buf, 0)
    attempt(comm.barrier)
"""


@pytest.mark.parametrize(("end", "timeout_s"), [("timeout", 2.0), ("signal", 60.0)])
def test_reading_the_memory_of_a_rank_that_gave_up_fails(end, timeout_s):
    body = HELD_WHILE_IT_READS.replace("TIMEOUT", str(timeout_s)).replace("DIRECT", str(DIRECT))
    with Ranks(2, HOLD_SYSTEM_CALL + body) as ranks:
        root, reader = ranks.ranks
        assert reader.hear() == {"held": True}
        if end == "signal":
            root.process.send_signal(signal.SIGUSR1)
        gave_up = root.hear()
        reader.finish(60)  # it is held no longer
    assert gave_up["error"] == ("CollectiveFailed" if end == "timeout" else "KeyboardInterrupt")
    _, first, again = reader.said
    assert first["error"] == "CollectiveFailed", reader.output
    words = "rank 0 still waits" if end == "timeout" else "rank 0 was interrupted by a signal"
    assert words in first["text"], reader.output
    assert again["text"] == first["text"]


@pytest.mark.waits
def test_the_timeout_counts_from_the_last_piece_that_was_read():
    timeout_s, piece_s = 3.0, 1.2
    body = f"""
{HOLD_SYSTEM_CALL}
n = 24 << 20  # three pieces
buf = np.full(n, 7 * (rank == 0), "u1")
comm = ShmCommunicator.attach(config(timeout={timeout_s}))
for _ in range({DIRECT}):
    comm.broadcast(buf, 0)
if rank == 1:
    buf[:] = 0
    hold_system_call("process_vm_readv", lambda piece: time.sleep({piece_s}))
comm.barrier()
attempt(comm.broadcast, buf, 0)
say(right=bool((buf == 7).all()))
"""
    root, reader = run(2, body)
    assert root.said[0]["error"] is None, root.output
    assert root.said[0]["seconds"] > timeout_s, "the reader was not slow enough to show anything"
    assert reader.said[0]["error"] is None, reader.output
    assert reader.said[1] == {"right": True}
