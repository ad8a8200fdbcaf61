"""Ranks of a program that has used up its file descriptors."""

from __future__ import annotations

import pytest

from shm_ranks import NOTICED_S, Ranks, run, wait_until_registered

NONE_LEFT = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"


def test_a_slow_rank_is_not_reported_dead_without_a_pidfd():
    body = f"""
say(begun=True)
comm = ShmCommunicator.attach(config())
if rank == victim:
    {NONE_LEFT}
    linger()
else:
    {NONE_LEFT}
    threading.Timer(0.3, lambda: say(looked=True)).start()  # who waits looks at the others every 50 ms
attempt(comm.barrier)
"""
    with Ranks(0, "") as ranks:
        slow = ranks.add(1, 2, body)
        slow.hear()
        waiting = ranks.add(0, 2, body)  # finds the other there, and has had no reason to look at it
        assert waiting.hear() == {"begun": True}
        assert waiting.hear() == {"looked": True}
        slow.go_on()
        ranks.finish()
    assert [rank.said[-1]["error"] for rank in (slow, waiting)] == [None, None], waiting.output


def test_a_dead_rank_is_noticed_without_a_pidfd():
    body = f"""
comm = ShmCommunicator.attach(config())
{NONE_LEFT}
if rank == victim:
    say(at=time.monotonic())
    os.kill(os.getpid(), signal.SIGKILL)
attempt(comm.barrier)
"""
    with Ranks(0, "") as ranks:
        survivor = ranks.add(0, 2, body)
        wait_until_registered(ranks.name, 1)
        dead = ranks.add(1, 2, body)
        ranks.finish()
    [told] = survivor.said
    assert "rank 1" in told["text"], survivor.output
    assert "has died" in told["text"], survivor.output
    assert told["at"] - dead.said[0]["at"] < NOTICED_S, survivor.output


@pytest.mark.parametrize("poor", [0, 1])
def test_a_region_that_cannot_be_opened_is_an_error_with_cause_and_remedy(poor):
    ranks = run(
        2,
        f"""
comm = ShmCommunicator.attach(config())
if rank == {poor}:
    {NONE_LEFT}
attempt(comm.create_shared_region, 1000)
comm.barrier()
""",
    )
    for rank in ranks:
        [told] = rank.said
        assert told["error"] == "AllocationFailed", rank.output
        assert "Too many open files" in told["text"], rank.output
        assert "ulimit -n" in told["text"], rank.output
        assert rank.exit_code == 0, rank.output
