"""Ranks of a program that has used up its file descriptors."""

from __future__ import annotations

import pytest

from shm_ranks import run

NONE_LEFT = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"


def test_a_slow_rank_is_not_taken_for_dead_without_a_descriptor_to_look_with():
    ranks = run(
        2,
        f"""
time.sleep(0 if rank == victim else 1.0)  # it finds all others there and has had no reason to look at them
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=20))
{NONE_LEFT}
if rank == victim:
    time.sleep(1.0)
attempt(comm.barrier)
""",
    )
    assert [rank.said[0]["error"] for rank in ranks] == [None, None], ranks[0].output


def test_a_death_is_seen_without_a_descriptor_to_look_with():
    ranks = run(
        2,
        f"""
time.sleep(1.0 if rank == victim else 0)
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=8))
{NONE_LEFT}
if rank == victim:
    say(at=time.monotonic())
    os.kill(os.getpid(), signal.SIGKILL)
attempt(comm.barrier)
""",
    )
    [told] = ranks[0].said
    assert "rank 1" in told["text"], ranks[0].output
    assert "has died" in told["text"], ranks[0].output
    assert told["at"] - ranks[1].said[0]["at"] < 2.0, ranks[0].output


@pytest.mark.parametrize("poor", [0, 1])
def test_a_region_that_cannot_be_opened_says_why_and_how_to_mend_it(poor):
    ranks = run(
        2,
        f"""
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=20))
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
