"""A rank that dies, stops, leaves or calls something else: everybody else learns it, in time and by name."""

from __future__ import annotations

import pytest

from comm.fault_calls import CALLS, meetings
from shm_ranks import NOTICED_S, Ranks, own_segments, run
from system_calls import AT_SYSTEM_CALL

SHORT_S = 2.0
"""The timeout where it is what ends the wait."""

ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "exit": "os._exit(3)",
    "clean exit": "sys.exit(0)",
    "exception": "raise RuntimeError('on purpose')",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "exec": "os.execv('/bin/cat', ['cat'])",
    "exec of the same program": "os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:-3], '-1', '0', ''])",
    "close": "comm.close(); linger()",
}


def body(call, misfortune, timeout="TIMEOUT_S"):
    return f"""
if rank == -1:  # what a rank has become
    linger()
    os._exit(0)
comm = ShmCommunicator.attach(config(timeout={timeout}))
region = comm.create_shared_region(10)
comm.barrier()
if rank == victim:
    say(at=time.monotonic())
    {misfortune}
else:
    attempt(lambda: {call})
    attempt(comm.barrier)
"""


def assert_all_told(survivors, victim, *words, within, since=None):
    for rank in survivors:
        first, again = rank.said
        if since is not None:
            assert first["at"] - since < within, rank.output
        assert first["error"] == "CollectiveFailed", rank.output
        assert f"rank {victim}" in first["text"], rank.output
        assert all(word in first["text"] for word in words), rank.output
        assert since is not None or first["seconds"] < within, rank.output
        assert (again["error"], again["text"]) == (first["error"], first["text"]), rank.output
        assert again["seconds"] < NOTICED_S, rank.output


@pytest.mark.few(5)
@pytest.mark.parametrize(("call", "end"), meetings(CALLS, ENDS))
def test_a_dead_rank_is_named_at_once(call, end):
    ranks = run(3, body(CALLS[call], ENDS[end]))
    word = "closed" if end in ("close", "exception", "clean exit") else "died"
    words = [word] if end in ("close", "SIGKILL") else []
    assert_all_told(ranks[:-1], 2, *words, within=NOTICED_S, since=ranks[2].said[0]["at"])
    assert not own_segments()


@pytest.mark.few(3)
@pytest.mark.waits
@pytest.mark.parametrize("call", CALLS)
def test_a_stopped_rank_is_waited_for_until_the_timeout(call):
    with Ranks(3, body(CALLS[call], "os.kill(os.getpid(), signal.SIGSTOP)", SHORT_S)) as ranks:
        survivors = ranks.finish(but=2)[:-1]
        assert_all_told(survivors, 2, "stopped", within=SHORT_S + NOTICED_S)
        assert max(rank.said[0]["seconds"] for rank in survivors) > 0.9 * SHORT_S
    assert not own_segments(ranks.name)


@pytest.mark.few(2)
@pytest.mark.waits
@pytest.mark.parametrize("fate", ["KILL", "TRAP"])
@pytest.mark.parametrize("point", ["membarrier", "process_vm_readv"])
def test_a_rank_that_gets_stuck_within_a_split_is_named_and_the_parent_remembers_it(point, fate):
    """While it registers in the new segment, or after that."""
    stuck = f"""
{AT_SYSTEM_CALL}
comm = ShmCommunicator.attach(config(timeout={SHORT_S}))
comm.barrier()
if rank == victim:
    stop_when_trapped()
    at_system_call("{point}", {fate})
attempt(comm.split_local)
attempt(comm.barrier)
"""
    with Ranks(3, stuck) as ranks:
        survivors = ranks.finish(but=2)[:-1]
        word = "died" if fate == "KILL" else "stopped"
        assert_all_told(survivors, 2, "split_local()", word, within=SHORT_S + NOTICED_S)


@pytest.mark.waits
def test_the_timeout_does_not_start_again_when_another_rank_comes():
    for timeout_s in (2 * SHORT_S, 8 * SHORT_S, 32 * SHORT_S):
        late = f"""
comm = ShmCommunicator.attach(config(timeout={timeout_s}))
n = 200_000
for _ in range(12):  # of all paths, also the one on which ranks say how far they have read
    comm.allgatherv(np.ones(n), np.empty(size * n), [n] * size, range(0, size * n, n))
if rank == victim:
    linger()
if rank == 1:
    time.sleep({timeout_s / 2})
    say(came=time.monotonic())
attempt(comm.barrier)
"""
        with Ranks(3, late) as ranks:
            waited, came = (rank.said[0] for rank in ranks.finish(but=2)[:2])
        assert "rank 2" in waited["text"], waited
        # A timeout that starts again is never over so soon. Where the machine was late, a longer one is tried.
        is_in_time = waited["at"] < came["came"] + timeout_s
        if is_in_time and "rank 1 (pid" not in waited["text"].partition("for")[2]:
            return
    pytest.fail(f"{waited} and {came} with a timeout of {timeout_s} s")


@pytest.mark.few(3)
@pytest.mark.parametrize("end", [*ENDS, "SIGSTOP"])
def test_closing_does_not_wait_for_other_ranks(end):
    """Whatever another rank does meanwhile, a rank that closes is done at once and hears of nothing."""
    misfortune = ENDS.get(end, "os.kill(os.getpid(), signal.SIGSTOP)")
    closing = f"""
if rank == -1:  # what a rank has become
    linger()
    os._exit(0)
comm = ShmCommunicator.attach(config())
region = comm.create_shared_region(10)
view = region.as_slice()
comm.barrier()
if rank == victim:
    {misfortune}
else:
    attempt(region.close)
    attempt(comm.close)
    attempt(comm.barrier)
    say(still_there=float(view.sum()))
"""
    with Ranks(3, closing) as ranks:
        for rank in ranks.finish(but=2 if end == "SIGSTOP" else None)[:-1]:
            assert [one.get("error") for one in rank.said] == [None, None, "InvalidCommunicator", None], (
                rank.output
            )
            assert max(one["seconds"] for one in rank.said[:3]) < NOTICED_S, rank.output
            assert rank.said[3] == {"still_there": 0.0}
    assert not own_segments()


def test_a_stopped_rank_that_continues_in_time_causes_no_error():
    ranks = run(
        3,
        """
comm = ShmCommunicator.attach(config())
comm.barrier()
if rank == victim:
    stopped = os.getpid()
    if os.fork() == 0:
        while open(f"/proc/{stopped}/stat").read().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(stopped, signal.SIGCONT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)
for _ in range(100):
    attempt(comm.barrier)
""",
    )
    for rank in ranks:
        assert [one["error"] for one in rank.said] == [None] * 100, rank.output


DISAGREEMENTS = {
    "operation": (
        "comm.barrier()",
        "comm.allreduce(np.ones(4), np.empty(4), 'sum')",
        "barrier()",
        "allreduce",
    ),
    "dtype": (
        "comm.broadcast(np.ones(4), 0)",
        "comm.broadcast(np.ones(4, 'i8'), 0)",
        "4 x float64",
        "4 x int64",
    ),
    "size": (
        "comm.allreduce(np.ones(4), np.empty(4), 'sum')",
        "comm.allreduce(np.ones(5), np.empty(5), 'sum')",
        "4 x float64",
        "5 x float64",
    ),
    "large size": (
        "comm.broadcast(np.ones(10**6), 0)",
        "comm.broadcast(np.ones(10**6 + 1), 0)",
        "1000000 x",
        "1000001 x",
    ),
    "counts": (
        "comm.allgatherv(np.ones(1), np.empty(9), [1, 1, 1], [0, 1, 2])",
        "comm.allgatherv(np.ones(1), np.empty(9), [1, 2, 1], [0, 1, 3])",
        "counts [1, 1, 1]",
        "counts [1, 2, 1]",
    ),
    "root": ("comm.broadcast(np.ones(4), 0)", "comm.broadcast(np.ones(4), 1)", "root 0", "root 1"),
    "reduction": (
        "comm.allreduce(np.ones(4), np.empty(4), 'sum')",
        "comm.allreduce(np.ones(4), np.empty(4), 'max')",
        "allreduce(4 x float64, sum)",
        "allreduce(4 x float64, max)",
    ),
    "region": ("comm.create_shared_region(10)", "comm.create_shared_region(11)", "10 x", "11 x"),
    "fence": ("region.fence()", "other.fence()", "fence(region 1)", "fence(region 2)"),
    "region or barrier": (
        "comm.create_shared_region(10)",
        "comm.barrier()",
        "create_shared_region",
        "barrier()",
    ),
    "split or barrier": ("comm.split_local()", "comm.barrier()", "split_local()", "barrier()"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("what", DISAGREEMENTS)
def test_ranks_that_disagree_all_report_which_rank_called_what(what):
    theirs, its, one, other = DISAGREEMENTS[what]
    ranks = run(
        3,
        f"""
comm = ShmCommunicator.attach(config())
region, other = comm.create_shared_region(10), comm.create_shared_region(10)
attempt(lambda: {its} if rank == victim else {theirs})
attempt(comm.barrier)
""",
    )
    assert_all_told(ranks, 2, one, other, within=NOTICED_S)


def test_a_wrong_argument_is_local_until_that_rank_calls_something_else():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config())
if rank == victim:
    try:
        comm.allreduce(np.ones(4), np.empty(5), "sum")
    except InvalidBufferSize:
        pass
    attempt(comm.allreduce, np.ones(4), np.empty(4), "sum")
    try:
        comm.broadcast(np.ones(4), 7)
    except InvalidRoot:
        pass
    attempt(comm.barrier)
else:
    attempt(comm.allreduce, np.ones(4), np.empty(4), "sum")
    attempt(comm.broadcast, np.ones(4), 0)
""",
    )
    for rank in ranks:
        assert rank.said[0]["error"] is None, rank.output
        assert rank.said[1]["error"] == "CollectiveFailed", rank.output
        assert "barrier()" in rank.said[1]["text"], rank.output
        assert "broadcast(4 x float64, root 0)" in rank.said[1]["text"], rank.output


def test_a_rank_may_leave_once_it_has_contributed():
    ranks = run(
        4,
        """
comm = ShmCommunicator.attach(config())
recv = np.empty(size * 50_000)
for _ in range(20):
    comm.allgatherv(np.full(50_000, rank, float), recv, [50_000] * size, range(0, size * 50_000, 50_000))
if rank % 2:
    os._exit(0)  # some leave at once, others look at what they got
say(sums=[float(part.sum()) for part in recv.reshape(size, -1)])
""",
    )
    for rank in (ranks[0], ranks[2]):
        assert rank.said == [{"sums": [50_000.0 * r for r in range(4)]}], rank.output
