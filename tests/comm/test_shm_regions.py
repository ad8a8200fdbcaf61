"""Regions that are truly shared, and what happens when there is no room for them."""

from __future__ import annotations

import pytest

from commands import can_mount
from shm_ranks import NOTICED_S, PRELUDE, run
from system_calls import HOLD_SYSTEM_CALL

needs_mount = pytest.mark.skipif(
    not can_mount("/dev/shm"), reason="needs root and unshare for a small /dev/shm of its own"
)


def run_with_small_shm(size, body, megabytes):
    """All ranks in one mount namespace whose /dev/shm holds so much."""
    script = f'mount -t tmpfs -o size={megabytes}m none /dev/shm && exec "$@"'
    launcher = f"""
import subprocess
processes = [subprocess.Popen([sys.executable, "-c", BODY, str(r), "{size}", name]) for r in range({size})]
codes = [process.wait() for process in processes]
say(codes=codes, left=os.listdir("/dev/shm"))
"""
    code = f"BODY = {PRELUDE + body!r}\n{launcher}"
    [rank] = run(1, code, prefix=("unshare", "-m", "sh", "-c", script, "sh"))
    return rank


def run_to_its_end(program):
    """What must hold in each of three ranks."""
    for rank in run(3, f"comm = ShmCommunicator.attach(config())\n{program}"):
        assert rank.exit_code == 0, rank.output


@needs_mount
def test_no_memory_for_the_segment_is_an_error_on_all_ranks_at_once():
    rank = run_with_small_shm(3, "attempt(lambda: ShmCommunicator.attach(config()))", 1)
    *told, end = rank.said
    assert end["left"] == []
    assert [one["error"] for one in told] == ["InitializationFailed"] * 3, rank.output
    assert [one["cause"] for one in told] == ["AllocationFailed"] * 3
    for one in told:
        assert "bytes but only" in one["text"], rank.output
        assert "--shm-size" in one["text"], rank.output
        assert one["seconds"] < NOTICED_S, rank.output
    assert sum("rank 0 could not start" in one["text"] for one in told) == 2


@pytest.mark.soak
@needs_mount
def test_collectives_of_eight_ranks_work_on_64_megabytes():
    rank = run_with_small_shm(
        8,
        """
comm = ShmCommunicator.attach(config())
n = 3_000_000
recv = np.empty(size * n)
comm.allgatherv(np.full(n, float(rank)), recv, [n] * size, range(0, size * n, n))
assert all((recv[r * n : (r + 1) * n] == r).all() for r in range(size))
total = np.empty(n)
comm.allreduce(np.full(n, float(rank)), total, "sum")
assert (total == sum(range(size))).all()
buf = np.full(n, 7.0 * (rank == 3))
comm.broadcast(buf, 3)
assert (buf == 7).all()
""",
        64,
    )
    assert rank.said == [{"codes": [0] * 8, "left": []}], rank.output


@needs_mount
def test_a_region_that_does_not_fit_is_refused_everywhere_and_nothing_breaks():
    rank = run_with_small_shm(
        3,
        """
comm = ShmCommunicator.attach(config())
error = attempt(lambda: comm.create_shared_region(20_000_000))
assert error.requested_bytes == 160_000_000
region = comm.create_shared_region(1_000_000)
region.as_mut_block(rank * 1000, 1000)[:] = rank
region.fence()
assert region.as_slice()[:3000].sum() == 3000
""",
        32,
    )
    *told, ending = rank.said
    assert ending == {"codes": [0, 0, 0], "left": []}, rank.output
    assert len(told) == 3
    for one in told:
        assert one["error"] == "AllocationFailed", rank.output
        assert "160,000,000" in one["text"]
        assert "/dev/shm" in one["text"]
        assert "--shm-size" in one["text"]
        assert "remount" in one["text"]


def test_a_region_larger_than_memory_is_refused_on_every_rank():
    ranks = run(
        3,
        """
comm = ShmCommunicator.attach(config())
for count in (10**13, 2**60, 10**30):
    error = attempt(comm.create_shared_region, count)
    assert error.requested_bytes == 8 * count
comm.barrier()
""",
    )
    for rank in ranks:
        assert [one["error"] for one in rank.said] == ["AllocationFailed"] * 3, rank.output
        assert rank.exit_code == 0, rank.output


def test_writes_are_visible_to_all_and_views_stay_valid():
    run_to_its_end("""
region = comm.create_shared_region(300, "i4")
view = region.as_slice()
assert view.sum() == 0 and len(region.as_mut_slice()) == (300 if rank == 0 else 0)
comm.barrier()
region.as_mut_block(100 * rank, 100)[:] = rank + 1
region.fence()
assert view.sum() == 600
try:
    view.flags.writeable = True
except ValueError:
    pass
else:
    raise AssertionError("the read-only view was made writable")
region.close()
comm.close()
del region, comm
assert view.sum() == 600
""")


def test_results_left_in_a_region_are_exact_round_after_round():
    run_to_its_end("""
for count in (1, 5, 100, 20_000, 100_000):
    region = comm.create_shared_region(size * count)
    recv = region.as_mut_block(0, size * count)
    counts, displs = [count] * size, [count * r for r in range(size)]
    for round in range(30):
        comm.allgatherv(np.full(count, 10.0 * round + rank), recv, counts, displs)
        assert all((recv[r * count : (r + 1) * count] == 10 * round + r).all() for r in range(size))
        comm.barrier()
        recv[displs[rank] : displs[rank] + count] = -rank
        comm.allgatherv(recv[displs[rank] : displs[rank] + count], recv, counts, displs)  # in place
        assert all((recv[r * count : (r + 1) * count] == -r).all() for r in range(size))
        comm.barrier()
        comm.allreduce(np.full(size * count, float(rank + round)), recv, "sum")
        assert (recv == 3 + 3 * round).all()
        comm.barrier()
        if rank == 1:
            recv[:] = round
        comm.broadcast(recv, 1)
        assert (recv == round).all()
        comm.barrier()
        private = np.empty(size * count)  # one rank's result elsewhere: then nobody's is shared
        comm.allgatherv(np.full(count, float(rank)), private if rank == 0 else recv.copy(), counts, displs)
    region.close()
""")


def test_a_split_communicator_is_closed_without_its_parent():
    run_to_its_end("""
local = comm.split_local()
assert (local.rank, local.size, local.backend) == (rank, size, "shm")
local.barrier()
region = local.create_shared_region(3)
region.as_mut_block(rank, 1)[0] = 1
region.fence()
assert region.as_slice().sum() == 3
local.close()
comm.barrier()
""")


def test_many_regions_leave_no_mapping_or_descriptor():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config())
def held():
    return len(os.listdir("/proc/self/fd")), open("/proc/self/maps").read().count("/dev/shm")
comm.create_shared_region(1000).close()
before = held()
for _ in range(200):
    region = comm.create_shared_region(1000)
    region.as_slice().sum()
    region.close()
del region
say(before=before, after=held())
""",
    )
    for rank in ranks:
        assert rank.said[0]["before"] == rank.said[0]["after"], rank.output


def test_a_signal_is_answered_while_a_region_is_reserved():
    ranks = run(
        2,
        f"""
{HOLD_SYSTEM_CALL}
comm = ShmCommunicator.attach(config())
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
me = os.getpid()
def before(call):
    os.kill(me, signal.SIGALRM)
    time.sleep(0.2)  # it looks for signals every 20 ms

if rank == 0:
    hold_system_call("fallocate", before)
comm.barrier()
try:
    attempt(lambda: comm.create_shared_region(1 << 20, "u1"))
except KeyboardInterrupt:
    attempt(comm.barrier)
""",
    )
    for rank in ranks:  # while it is, not afterwards: then rank 1 would have its region
        assert rank.said[0]["error"] == "CollectiveFailed", rank.output
        assert "rank 0 was interrupted by a signal in create_shared_region" in rank.said[0]["text"], (
            rank.output
        )


def test_a_timer_shorter_than_a_reservation_does_not_keep_it_from_its_end():
    [rank] = run(
        1,
        """
comm = ShmCommunicator.attach(config())
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
attempt(lambda: comm.create_shared_region(32 << 20, "u1"))
signal.setitimer(signal.ITIMER_REAL, 0)
""",
    )
    assert rank.said[0]["error"] is None, rank.output
