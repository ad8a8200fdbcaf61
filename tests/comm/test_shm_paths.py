"""Payloads that go straight from one rank's memory into another's, when that is refused or a rank gives up."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from shm_ranks import Ranks, run

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


def test_a_payload_in_the_slot_takes_no_room_in_the_ring():
    ranks = run(
        4,
        """
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=20))
region = comm.create_shared_region(4, "i8")
steps = np.arange(1000)
for call in range(200):
    few = region.as_mut_block(0, 4) if rank == 0 else np.empty(4, dtype="i8")
    comm.allreduce(np.full(4, call), few, "sum")
    total = np.empty(1000, dtype="i8")
    comm.allreduce(steps * rank + call, total, "sum")
    assert (total == 6 * steps + 4 * call).all(), call
""",
        COBRE_COMM_LIMITS="chunk_bytes=64,ring_bytes=64",
    )
    assert [rank.exit_code for rank in ranks] == [0] * 4, "".join(rank.output for rank in ranks)


# Rank 1 stops itself as soon as the first bytes have come, and fresh pages make it slow.
STOPPED_WHILE_IT_READS = f"""
n = 50_000_000
buf = np.full(n, 7.0) if rank == 0 else np.zeros(n)
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=TIMEOUT))
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, handler)
for _ in range({DIRECT}):
    comm.broadcast(buf, 0)
if rank == 1:
    buf = np.zeros(n)
    def stop():
        while buf[0] == 0:
            pass
        os.kill(os.getpid(), signal.SIGSTOP)
    threading.Thread(target=stop).start()
comm.barrier()
if rank == 0:
    try:
        comm.broadcast(buf, 0)
    except (CollectiveFailed, KeyboardInterrupt) as error:
        buf[:] = -1.0
        say(error=type(error).__name__)
    else:
        say(error=None)
    time.sleep(10)
attempt(comm.broadcast, buf, 0)
say(right=int((buf == 7.0).sum()))
attempt(comm.barrier)
"""


def _state(process):
    return Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]


@pytest.mark.parametrize("end", ["timeout", "signal"])
def test_who_reads_the_memory_of_a_rank_that_gave_up_is_told(end):
    for _ in range(5):  # the machine may be too busy to stop it in the middle
        body = STOPPED_WHILE_IT_READS.replace("TIMEOUT", "2.0" if end == "timeout" else "20.0")
        with Ranks(2, body) as ranks:
            root, reader = ranks.ranks
            deadline = time.monotonic() + 20
            while _state(reader.process) != "T" and time.monotonic() < deadline:
                time.sleep(0.01)
            if end == "signal":
                root.process.send_signal(signal.SIGUSR1)
            root_said = root.process.stdout.readline()
            reader.process.send_signal(signal.SIGCONT)
            reader.finish(20)
        if "null" in root_said:  # all had been read before the reader stopped
            assert reader.said[1]["right"] == 50_000_000
            continue
        first, _, again = reader.said
        assert first["error"] == "CollectiveFailed", reader.output
        words = "rank 0 still waits" if end == "timeout" else "rank 0 was interrupted by a signal"
        assert words in first["text"], reader.output
        assert again["text"] == first["text"]
        return
    pytest.skip("the reader was never stopped in the middle of a read")


def test_the_timeout_counts_from_the_last_piece_that_was_read():
    body = f"""
n = 60_000_000
buf = np.full(n, 7.0) if rank == 0 else np.zeros(n)
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=1.5))
for _ in range({DIRECT}):
    comm.broadcast(buf, 0)
if rank == 1:
    buf = np.zeros(n)
comm.barrier()
say(pid=os.getpid())
attempt(comm.broadcast, buf, 0)
assert (buf == 7.0).all()
"""
    with Ranks(2, body) as ranks:
        reader = ranks.ranks[1].process
        reader.stdout.readline()
        for _ in range(4):  # 2.4 s in all, and in between it goes on for a moment
            reader.send_signal(signal.SIGSTOP)
            time.sleep(0.6)
            reader.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        root, reader = ranks.finish()
    assert root.said[1]["error"] is None, root.output
    assert root.said[1]["seconds"] > 1.5, "the reader was not slow enough to show anything"
    assert reader.said[0]["error"] is None, reader.output
