"""A cable that is cut, or loses packets, in every phase: ``make test-network``.

Rank 1 is behind the cable; ranks 0 and 2 share the near side. Nothing here leaves the namespaces of the test.
"""

from __future__ import annotations

import os
import time

import pytest

from comm.tcp_breaks import CLOSING, READY, TRANSFERS, assert_closed, assert_ended_by, cut_once_ready
from comm.tcp_cable import NEAR, NEAR_V6, Cable
from comm.tcp_ranks import CALLS, TOOLS, Ranks

pytestmark = pytest.mark.skipif(
    "COBRE_TEST_NETWORK" not in os.environ, reason="needs namespaces and time: make test-network runs it"
)

CUTS = ["drop", "unplug"]
START = (
    TOOLS
    + """
say("starting")
if "LATER" in os.environ: wait_for_word()
failure_of(start)
if comm is not None:
    failure_of(comm.barrier)
"""
)


@pytest.fixture
def cable():
    with Cable() as joined:
        yield joined


@pytest.fixture
def ranks(cable, tmp_path):
    def make(program, size=3, host=NEAR, keepalive_s=10, **options):
        environ = {
            "COBRE_TCP_COORDINATOR": host,
            "COBRE_TCP_SECRET": "between us",
            "COBRE_TCP_BIND_ADDR": host,
            "COBRE_COMM_LIMITS": f"keepalive_s={keepalive_s}",
        }
        inside = {rank: cable.inside(cable.far if rank == 1 else cable.near) for rank in range(size)}
        return Ranks(size, program, directory=tmp_path, port=29500, environ=environ, inside=inside, **options)

    return make


def within(seconds):
    """The setting of a rank whose deadline to meet is to run out."""
    return {"COBRE_TCP_CONNECT_TIMEOUT_MS": str(1000 * seconds)}


@pytest.mark.parametrize("host", [NEAR, NEAR_V6])
def test_ranks_connect_and_communicate_across_a_cable(ranks, host):
    program = f"comm.barrier(); comm.broadcast(big, 1); failure_of({CALLS['large allgatherv']})"
    with ranks(program, host=host) as group:
        said = group.start().wait()
    assert all("no failure" in words for words in said), said


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_cut_cable_is_an_error_that_names_the_rank_behind_it(ranks, cable, call, cut):
    program = f"{READY}failure_of({CALLS[call]})\nfailure_of(comm.barrier)"
    with ranks(program, timeout_s=2) as group:
        cut_once_ready(getattr(cable, cut), group)
        said = group.wait()
    for rank, words in enumerate(said):
        assert "no failure" not in words, said
        assert words.count("rank 0" if rank == 1 else "rank 1") >= 2, said
    # Behind the cable nobody can say more than that.
    assert said[1].count("rank 0 (192.0.2.1:29500) cannot be reached any more (") == 2, said


@pytest.mark.parametrize("cut", CUTS)
def test_a_cable_cut_in_the_middle_of_a_transfer_is_an_error_on_every_rank(ranks, cable, cut):
    with ranks(TRANSFERS, timeout_s=8) as group:
        assert_ended_by(getattr(cable, cut), group)


@pytest.mark.parametrize("cut", CUTS)
def test_a_cable_that_is_mended_within_the_timeout_costs_nothing_but_time(ranks, cable, cut):
    program = f"""{READY}
total = np.empty_like(big)
for _ in range(3):
    comm.allreduce(big * (rank + 1), total, "sum")
    assert (total == 6).all()
say("right")
"""
    with ranks(program) as group:
        cut_once_ready(getattr(cable, cut), group)
        time.sleep(1.5)
        cable.mend()
        said = group.wait()
    assert all("right" in words for words in said), said


@pytest.mark.parametrize("settled_s", [0, 0.5], ids=["unacknowledged", "idle"])
@pytest.mark.parametrize("cut", CUTS)
def test_keepalive_finds_a_rank_that_vanished_while_rank_0_computes(ranks, cable, cut, settled_s):
    """The timeout is far away. Idle, it is the kernel that asks and gets no answer; but right behind a step it still
    waits for an acknowledgement, and asks nobody."""
    program = """
comm.barrier()
say("ready")
if rank != 2: wait_for_word()
failure_of(comm.barrier)
"""
    with ranks(program, timeout_s=100, keepalive_s=1) as group:
        group.start()
        group.wait_for_all("ready")
        time.sleep(settled_s)
        getattr(cable, cut)()
        group.wait(2)
        group.give_word()
        said = group.wait()
    for rank, lost in ((2, "rank 1 (192.0.2.2:"), (0, "rank 1 (192.0.2.2:"), (1, "rank 0 (192.0.2.1:")):
        assert lost in said[rank], said
        assert "cannot be reached any more (" in said[rank], said


@pytest.mark.parametrize("cut", CUTS)
def test_keepalive_ends_the_wait_of_a_rank_behind_a_cut_cable(ranks, cable, cut):
    program = """
comm.barrier()
say("ready")
if rank == 0: wait_for_word()
failure_of(comm.barrier)
failure_of(comm.barrier)
"""
    with ranks(program, size=2, timeout_s=100, keepalive_s=1) as group:
        group.start()
        group.wait_for_all("ready")
        group.wait_until_asleep(1)
        time.sleep(0.5)  # what rank 1 has called has got to rank 0's machine
        getattr(cable, cut)()
        group.wait(1)
        group.give_word()
        said = group.wait()
    assert said[1].count("rank 0 (192.0.2.1:") == 2, said
    assert said[1].count("cannot be reached any more (") == 2, said
    first, second = said[0].splitlines()[-2:]
    assert first == "no failure", said  # all that the first barrier needs had come
    assert "rank 1 (192.0.2.2:" in second, said


@pytest.mark.parametrize("cut", CUTS)
def test_a_cable_cut_before_the_meeting_is_named_by_all(ranks, cable, cut):
    getattr(cable, cut)()
    with ranks("", preamble=START) as group:
        group.start(2)
        group.start(1, **within(2))
        said = group.start(0, **within(3)).wait()
    assert all("InitializationFailed" in words for words in said), said
    assert "no rank 0 at 192.0.2.1 port 29500 within 2 s" in said[1], said
    for rank in (0, 2):
        assert "waited 3 s for rank 1 in vain" in said[rank], said


@pytest.mark.parametrize("cut", CUTS)
def test_a_cable_cut_during_the_meeting_is_named_by_all(ranks, cable, cut):
    """Rank 1 has joined and waits for rank 2 when the cable is cut. Rank 0 cannot know that yet."""
    with ranks("", preamble=START, timeout_s=1) as group:
        group.start(0)
        group.wait_until_listening()
        group.start(1, **within(3))
        group.wait_until_joined(1)
        getattr(cable, cut)()
        group.start(2)
        said = group.wait()
    assert "InitializationFailed" in said[1], said
    assert "did not complete the group within 3 s" in said[1], said
    for rank in (0, 2):
        assert "no failure" in said[rank].splitlines(), said  # the meeting
        assert "rank 1" in said[rank].splitlines()[-1], said  # the first step


def test_keepalive_frees_the_place_of_a_rank_that_vanished_during_the_meeting(ranks, cable):
    with ranks("", preamble=START, keepalive_s=1) as group:
        group.start(2, LATER="1").wait_for(2, "starting")
        group.start(1, LATER="1").wait_for(1, "starting")
        group.start(0, **within(20))
        group.give_word(1)
        group.wait_until_joined(1)
        cable.drop()
        group.wait_until_logged(0, "rank 1 left before the group was complete")
        group.give_word(2)
        said = group.wait()
    for rank in (0, 2):
        assert "waited 20 s for rank 1 (came and left) in vain" in said[rank], said


@pytest.mark.parametrize("cut", CUTS)
def test_a_cable_mended_during_the_meeting_keeps_no_rank_from_joining(ranks, cable, cut):
    getattr(cable, cut)()
    with ranks("", preamble=START) as group:
        group.start()
        time.sleep(2)
        cable.mend()
        said = group.wait()
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.parametrize("cut", CUTS)
def test_closing_behind_a_cut_cable_does_not_wait(ranks, cable, cut):
    with ranks(READY + CLOSING) as group:
        cut_once_ready(getattr(cable, cut), group)
        assert_closed(group.wait())


@pytest.mark.parametrize("percent", [1, 5])
def test_lost_packets_change_no_result(ranks, cable, percent):
    program = """
expected = size * (size + 1) / 2
total, every = np.empty_like(big), np.empty(size * big.size)
for step in range(6):
    comm.allreduce(big * (rank + 1), total, "sum")
    assert (total == expected).all()
    comm.allgatherv(big * rank, every, [big.size] * size, [big.size * r for r in range(size)])
    assert all((every[big.size * r : big.size * (r + 1)] == r).all() for r in places)
    word = big * (7.0 if rank == 1 else 0.0)
    comm.broadcast(word, 1)
    assert (word == 7).all()
    comm.barrier()
say("right")
"""
    cable.drop(percent)
    with ranks(program) as group:
        said = group.start().wait(seconds=90)
    assert all("right" in words for words in said), said


def test_the_kit_passes_where_packets_are_lost(ranks, cable):
    program = 'from cobre.comm.testing.command import main\nsys.exit(main(["--deadline", "100"]))'
    cable.drop(1)
    with ranks(program, preamble=TOOLS) as group:
        said = group.start().wait(seconds=110)
    assert ", 0 failed" in said[0], said
