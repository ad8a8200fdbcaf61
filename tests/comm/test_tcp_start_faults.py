"""Ranks that fail, and connections that break, while the group forms: whoever is left learns who is missing."""

from __future__ import annotations

import signal
import time

import pytest

from comm.tcp_proxy import Proxy
from comm.tcp_ranks import LONG_S, TOOLS, Ranks, free_port
from matrices import in_turn

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
# Of those whose deadline is to run out: what has to happen before takes some milliseconds.
SHORT = {"COBRE_TCP_CONNECT_TIMEOUT_MS": "4000"}


def ranks(directory, size=3, **options):
    return Ranks(size, PROGRAM, preamble=TOOLS, directory=directory, **options)


def prepare(group):
    """All processes have started, and wait for the word to meet; so the machine has time for the meeting."""
    for rank in range(group.size):
        group.start(rank, LATER="1", **SHORT)
    for rank in range(group.size):
        group.wait_for(rank, "starting")


def let_meet(group, *others):
    """Rank 0 listens, and these have joined."""
    group.give_word(0)
    group.wait_until_listening()
    group.give_word(*others)
    group.wait_until_joined(*others)


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ENDS)
def test_a_worker_that_fails_during_the_meeting_is_named_by_the_others(tmp_path, how):
    with ranks(tmp_path) as group:
        prepare(group)
        let_meet(group, 1)
        group.signal(1, ENDS[how])
        group.wait(1)
        group.give_word(2)
        said = group.wait(0, 2)
    for rank in (0, 2):
        assert "InitializationFailed: " in said[rank], said
        assert "rank 0 waited 4 s for rank 1 (came and left) in vain" in said[rank], said


@pytest.mark.parametrize("how", ENDS)
def test_a_worker_that_is_started_again_during_the_meeting_takes_its_place(tmp_path, how):
    with ranks(tmp_path) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(1, ENDS[how])
        group.wait(1)
        group.start(1, 2)
        said = group.wait()
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.parametrize(
    ("how", "words"), [("killed", "no rank 0 at"), ("exits", "interrupted"), ("raises", "interrupted")]
)
def test_a_rank_0_that_fails_during_the_meeting_is_named_by_waiting_ranks(tmp_path, how, words):
    with ranks(tmp_path) as group:
        prepare(group)
        let_meet(group, 1)
        group.signal(0, ENDS[how])
        group.wait(0, 1)
        said = group.said(1)
    assert "InitializationFailed: " in said, said
    assert "rank 0" in said, said
    assert words in said, said


def test_a_rank_0_that_is_started_again_during_the_meeting_finds_waiting_ranks(tmp_path):
    with ranks(tmp_path) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.signal(0, signal.SIGKILL)
        group.wait(0)
        group.start(0, 2)
        said = group.wait()
    assert all(words.count("no failure") == 2 for words in said), said


def test_a_worker_that_stops_during_the_meeting_is_named_in_the_first_step(tmp_path):
    """Its kernel goes on answering, so the group is complete as far as anybody can know."""
    with ranks(tmp_path, timeout_s=1) as group:
        group.start(0, 1)
        group.wait_until_joined(1)
        group.stop(1)
        group.start(2)
        said = group.wait(0, 2)
    for rank in (0, 2):
        meeting, step = said[rank].splitlines()[-2:]
        assert meeting == "no failure", said
        assert "rank 1" in step, said


def test_a_worker_that_stops_before_the_meeting_is_named_at_the_deadline(tmp_path):
    with ranks(tmp_path) as group:
        prepare(group)
        group.stop(1)
        let_meet(group, 2)
        said = group.wait(0, 2)
    for rank in (0, 2):
        assert "rank 0 waited 4 s for rank 1 in vain" in said[rank], said


def test_a_rank_0_that_stops_during_the_meeting_is_named_after_the_deadline(tmp_path):
    with ranks(tmp_path) as group:
        prepare(group)
        let_meet(group, 1)
        group.stop(0)
        group.give_word(2)  # is let in by the kernel of rank 0, which knows nothing
        said = group.wait(1, 2)
    for rank in (1, 2):
        assert "InitializationFailed: " in said[rank], said
        assert "rank 0 at 127.0.0.1:" in said[rank], said
    assert "did not complete the group within 4 s" in said[1], said
    assert "did not answer within 4 s" in said[2], said


# Before, in and behind each frame of the handshake: 37 bytes of Challenge, 69 of Proof, 37 of Proof, 25 of Handshake.
@pytest.mark.parametrize(
    ("after", "how"), in_turn([0, 20, 37, 70, 106, 120, 143, 160, 168], ["reset", "half_close"])
)
def test_a_connection_that_breaks_during_the_meeting_is_made_again(tmp_path, how, after):
    port = free_port()
    with (
        Proxy(port, breaks=(how, after)) as proxy,
        ranks(tmp_path, port=port, ports={1: proxy.port}) as group,
    ):
        group.start(0)
        group.wait_until_listening()
        group.start(1)
        end = time.monotonic() + LONG_S
        while len(proxy.addresses) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert proxy.has_broken
        group.wait_until_joined(1, address=proxy.addresses[-1])
        group.start(2)
        said = group.wait()
    assert all(words.count("no failure") == 2 for words in said), said


@pytest.mark.parametrize("how", ["reset", "half_close"])
def test_a_connection_that_breaks_as_the_group_is_complete_is_named_by_both(tmp_path, how):
    """Rank 0 has let the last rank in and listens no more; what it said to it, after 168 bytes, is lost."""
    port = free_port()
    with (
        Proxy(port, breaks=(how, 169)) as proxy,
        ranks(tmp_path, size=2, port=port, ports={1: proxy.port}) as group,
    ):
        group.start(0)
        group.wait_until_listening()
        said = group.start(1, **SHORT).wait()
    assert "rank 1 (127.0.0.1:" in said[0].splitlines()[-1], said
    assert "InitializationFailed" in said[1], said
    assert "rank 0 at 127.0.0.1" in said[1], said


@pytest.mark.few(2)
@pytest.mark.parametrize("after", [0, 37, 106, 143, 168])
def test_a_connection_that_freezes_during_the_meeting_ends_it_at_the_deadline(tmp_path, after):
    port = free_port()
    with (
        Proxy(port, breaks=("freeze", after)) as proxy,
        ranks(tmp_path, size=2, timeout_s=1, port=port, ports={1: proxy.port}) as group,
    ):
        prepare(group)
        group.give_word(0)
        group.wait_until_listening()
        group.give_word(1)
        said = group.wait()
        assert proxy.has_broken
    assert "InitializationFailed" in said[1], said
    assert "rank 0" in said[1], said
    assert "rank 1" in said[0].splitlines()[-1], said
