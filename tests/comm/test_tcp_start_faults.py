"""Ranks that fail, and connections that break, while the group forms: whoever is left learns who is missing."""

from __future__ import annotations

import signal
import time

import pytest

from comm.tcp_proxy import Proxy
from comm.tcp_ranks import TOOLS, Ranks, free_port

pytestmark = pytest.mark.waits
PROGRAM = """
def leave(*_): sys.exit(3)
def stumble(*_): raise ValueError("mine")
signal.signal(signal.SIGUSR1, leave)
signal.signal(signal.SIGUSR2, stumble)
say("starting")
if "LATER" in os.environ: wait_for_word()
failure_of(start)
if comm is not None: failure_of(comm.barrier)
"""
ENDS = {"killed": signal.SIGKILL, "exits": signal.SIGUSR1, "raises": signal.SIGUSR2}


def ranks(directory, size=3, connect_ms=2000, **options):
    environ = {"COBRE_TCP_CONNECT_TIMEOUT_MS": str(connect_ms)}
    return Ranks(size, PROGRAM, preamble=TOOLS, directory=directory, environ=environ, **options)


@pytest.mark.parametrize("how", ENDS)
def test_a_worker_that_fails_during_the_meeting_is_named_by_the_others(tmp_path, how):
    with ranks(tmp_path) as group:
        group.start(2, LATER="1").wait_for(2, "starting")
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(1, ENDS[how])
        group.wait(1, seconds=1)
        group.give_word()
        said = group.wait(0, 2, seconds=5)
    for rank in (0, 2):
        assert "InitializationFailed: " in said[rank], said
        assert "rank 0 waited 2 s for rank 1 (came and left) in vain" in said[rank], said


@pytest.mark.parametrize("how", ENDS)
def test_a_worker_that_is_started_again_during_the_meeting_takes_its_place(tmp_path, how):
    with ranks(tmp_path, connect_ms=10_000) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(1, ENDS[how])
        group.wait(1, seconds=1)
        group.start(1, 2)
        said = group.wait(seconds=10)
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.parametrize(
    ("how", "words"), [("killed", "no rank 0 at"), ("exits", "interrupted"), ("raises", "interrupted")]
)
def test_a_rank_0_that_fails_during_the_meeting_is_named_by_those_who_wait(tmp_path, how, words):
    with ranks(tmp_path) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(0, ENDS[how])
        group.wait(0, seconds=1)
        said = group.wait(1, seconds=5)
    assert "InitializationFailed: " in said[1], said
    assert "rank 0" in said[1], said
    assert words in said[1], said


def test_a_rank_0_that_is_started_again_during_the_meeting_finds_those_who_wait(tmp_path):
    with ranks(tmp_path, connect_ms=10_000) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(0, signal.SIGKILL)
        group.wait(0, seconds=1)
        group.start(0, 2)
        said = group.wait(seconds=10)
    assert all(words.count("no failure") == 2 for words in said), said


def test_a_worker_that_stops_during_the_meeting_is_named_in_the_first_step(tmp_path):
    """Its kernel goes on answering, so the group is complete as far as anybody can know."""
    with ranks(tmp_path, timeout_s=1) as group:
        group.start(2, LATER="1").wait_for(2, "starting")
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(1, signal.SIGSTOP)
        group.give_word()
        said = group.wait(0, 2, seconds=8)
    for rank in (0, 2):
        meeting, step = said[rank].splitlines()[-2:]
        assert meeting == "no failure", said
        assert "rank 1" in step, said


def test_a_worker_that_stops_before_the_meeting_is_named_at_the_deadline(tmp_path):
    with ranks(tmp_path) as group:
        group.start(1)
        group.wait_for(1, "starting")
        group.signal(1, signal.SIGSTOP)
        time.sleep(0.2)
        group.start(0, 2)
        said = group.wait(0, 2, seconds=8)
    for rank in (0, 2):
        assert "rank 0 waited 2 s for rank 1" in said[rank], said


def test_a_rank_0_that_stops_during_the_meeting_is_named_after_the_deadline(tmp_path):
    with ranks(tmp_path, connect_ms=1000) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(0, signal.SIGSTOP)
        group.start(2)  # is let in by the kernel of rank 0, which knows nothing
        said = group.wait(1, 2, seconds=8)
    for rank in (1, 2):
        assert "InitializationFailed: " in said[rank], said
        assert "rank 0 at 127.0.0.1:" in said[rank], said
    assert "did not complete the group within 1 s" in said[1], said
    assert "did not answer within 1 s" in said[2], said


# Before, in and behind each frame of the handshake: 37 bytes of Challenge, 69 of Proof, 25 of Handshake, 37 of Proof.
@pytest.mark.parametrize("after", [0, 20, 37, 70, 106, 131, 150, 168])
@pytest.mark.parametrize("how", ["reset", "half_close"])
def test_a_connection_that_breaks_during_the_meeting_is_made_again(tmp_path, how, after):
    port = free_port()
    with (
        Proxy(port, breaks=(how, after)) as proxy,
        ranks(tmp_path, connect_ms=10_000, port=port, ports={1: proxy.port}) as group,
    ):
        group.start(0, 1)
        end = time.monotonic() + 10
        while not proxy.has_broken and time.monotonic() < end:
            time.sleep(0.01)
        assert proxy.has_broken
        time.sleep(0.3)
        group.start(2)
        said = group.wait(seconds=15)
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.parametrize("how", ["reset", "half_close"])
def test_a_connection_that_breaks_as_the_group_is_complete_is_mended_or_named_by_both(tmp_path, how):
    """Rank 0 has let the last rank in and closed its door; what it said to it is lost."""
    port = free_port()
    with (
        Proxy(port, breaks=(how, 131)) as proxy,
        ranks(tmp_path, size=2, connect_ms=2000, port=port, ports={1: proxy.port}) as group,
    ):
        said = group.start().wait(seconds=10)
    if all(words.count("no failure") == 2 for words in said):
        return  # rank 0 saw the break in time, and let it in again
    assert "rank 1 (127.0.0.1:" in said[0].splitlines()[-1], said
    assert "InitializationFailed" in said[1], said
    assert "rank 0 at 127.0.0.1" in said[1], said


@pytest.mark.parametrize("after", [0, 37, 106, 131])
def test_a_connection_that_freezes_during_the_meeting_ends_it_at_the_deadline(tmp_path, after):
    port = free_port()
    with (
        Proxy(port, breaks=("freeze", after)) as proxy,
        ranks(tmp_path, size=2, connect_ms=1000, timeout_s=1, port=port, ports={1: proxy.port}) as group,
    ):
        said = group.start().wait(seconds=10)
        assert proxy.has_broken
    assert "InitializationFailed" in said[1], said
    assert "rank 0" in said[1], said
    assert "rank 1" in said[0].splitlines()[-1], said
