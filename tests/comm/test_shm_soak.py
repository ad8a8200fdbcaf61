"""Long runs: many small collectives, many random ones, many random deaths.

The suite takes a taste. ``COBRE_TEST_SOAK=1 pytest tests/comm/test_shm_soak.py`` runs a million small ones, ten
thousand random ones and two hundred deaths.
"""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from shm_ranks import NOTICED_S, Ranks, own_segments, run

IS_LONG = bool(os.environ.get("COBRE_TEST_SOAK"))
pytestmark = pytest.mark.timeout(1800 if IS_LONG else 120)

# What must not grow: descriptors, mappings (a segment or region that stays is one), resident memory.
FOOTPRINT = """
import ctypes
def footprint():
    ctypes.CDLL(None).malloc_trim(0)  # what the C library keeps of freed memory is no leak
    pages = int(open("/proc/self/statm").read().split()[1])
    return len(os.listdir("/proc/self/fd")), len(open("/proc/self/maps").readlines()), pages * os.sysconf("SC_PAGESIZE")

def assert_no_growth(before, megabytes):
    after = footprint()
    assert after[0] <= before[0], (before, after)
    assert after[1] <= before[1] + 4, (before, after)
    assert after[2] <= before[2] + megabytes * 2**20, (before, after)
"""


@pytest.mark.parametrize("size", [2, 3])
def test_many_small_collectives_give_right_results(size):
    rounds = 250_000 if IS_LONG else 2_000  # four collectives each
    body = (
        FOOTPRINT
        + f"""
comm = ShmCommunicator.attach(config())
total, buf, parts = np.empty(2), np.empty(1), np.empty(size)
mine, counts, displs = np.empty(2), [1] * size, list(range(size))
for step in range({rounds}):
    mine[0], mine[1] = step, rank
    comm.allreduce(mine, total, "sum")
    assert total[0] == size * step and total[1] == size * (size - 1) / 2, (step, total)
    comm.allgatherv(mine[:1], parts, counts, displs)
    assert (parts == step).all(), (step, parts)
    buf[0] = step if rank == step % size else -1
    comm.broadcast(buf, step % size)
    assert buf[0] == step, (step, buf)
    comm.barrier()
    if step == {rounds} // 4:
        before = footprint()
assert_no_growth(before, 1)
say(done=True)
"""
    )
    with Ranks(size, body) as ranks:
        for rank in ranks.finish(1500):
            assert rank.said == [{"done": True}], rank.output


@pytest.mark.parametrize("size", [2, 4])
def test_random_collectives_give_right_results(size):
    rounds = 10_000 if IS_LONG else 400
    body = (
        FOOTPRINT
        + f"""
import gc, random
comm = ShmCommunicator.attach(config())
shared = random.Random(7)
for step in range({rounds}):
    if step == {rounds} // 4:
        total = buf = recv = None
        gc.collect()
        before = footprint()
    what, root = shared.randrange(4), shared.randrange(size)
    n = shared.choice([1, 6, 7, 100, 5000, 17_000, 70_000, 300_000])
    n += shared.randrange(n)
    if what == 0:
        comm.barrier()
    elif what == 1:
        total = np.empty(n, "i8")
        comm.allreduce(np.arange(n) * (rank + 1) + step, total, "sum")
        assert (total == np.arange(n) * (size * (size + 1) // 2) + size * step).all(), step
    elif what == 2:
        buf = np.arange(n) + step if rank == root else np.empty(n, "i8")
        comm.broadcast(buf, root)
        assert (buf == np.arange(n) + step).all(), step
    else:
        counts = [(n + 31 * r) % (n + 1) for r in range(size)]
        displs = [sum(counts[:r]) for r in range(size)]
        recv = np.empty(sum(counts), "i8")
        comm.allgatherv(np.arange(counts[rank]) + rank + step, recv, counts, displs)
        for r in range(size):
            assert (recv[displs[r] : displs[r] + counts[r]] == np.arange(counts[r]) + r + step).all(), step
    if step % 10 == 0:
        with comm.create_shared_region(size * n, "i8") as region:
            whole = region.as_mut_block(0, size * n)
            comm.allgatherv(np.arange(n) + rank, whole, [n] * size, range(0, size * n, n))
            assert (region.as_slice() == np.concatenate([np.arange(n) + r for r in range(size)])).all(), step
            del whole
total = buf = recv = region = None
gc.collect()
assert_no_growth(before, 16)
say(done=True)
"""
    )
    with Ranks(size, body) as ranks:
        for rank in ranks.finish(1500):
            assert rank.said == [{"done": True}], rank.output


def test_random_kills_leave_nothing_and_no_rank_hangs():
    body = """
try:
    comm = ShmCommunicator.attach(config(connect_timeout=3, timeout=20))
    say(started=True)
    recv = np.empty(size * 100_000)
    for step in range(10**9):
        comm.allreduce(np.ones(4), np.empty(4), "sum")
        comm.allgatherv(recv[:100_000], recv.copy(), [100_000] * size, range(0, size * 100_000, 100_000))
        comm.broadcast(recv, step % size)
        if step % 20 == 0:
            comm.create_shared_region(1000 + step).fence()
except CobreError as error:
    say(text=str(error), at=time.monotonic())
"""
    dice = random.Random(5)
    for _ in range(200 if IS_LONG else 8):
        with Ranks(3, body) as ranks:
            victim = dice.randrange(3)
            if dice.random() < 0.7:  # otherwise during start-up
                assert ranks.ranks[victim].process.stdout.readline()
            time.sleep(dice.random() * 0.1)
            ranks.ranks[victim].process.send_signal(signal.SIGKILL)
            begin = time.monotonic()
            for number, rank in enumerate(ranks.finish(30)):
                if number != victim:
                    told = rank.said[-1]
                    # Killed before it came, it is known to the others only as the rank that never did.
                    assert (
                        f"rank {victim}" in told["text"]
                        or "not come" in told["text"]
                        or "rank 0 has not" in (told["text"])
                    ), rank.output
                    if rank.said[0].get("started"):
                        assert told["at"] - begin < NOTICED_S, rank.output
        assert not own_segments()


def test_two_groups_at_the_same_time_are_independent():
    body = """
comm = ShmCommunicator.attach(config())
value = sum(map(ord, name))
total = np.empty(1)
for _ in range(2000):
    comm.allreduce(np.array([float(value)]), total, "sum")
    assert total[0] == size * value
say(done=True)
"""
    with Ranks(2, body) as one, Ranks(3, body) as other:
        for rank in [*one.finish(), *other.finish()]:
            assert rank.said == [{"done": True}], rank.output


def test_run_leaves_no_segment():
    run(2, "ShmCommunicator.attach(config())")
    assert not own_segments()
