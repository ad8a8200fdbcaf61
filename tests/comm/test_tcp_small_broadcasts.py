"""The root of a broadcast of at most 64 KiB gives its data and goes on; whatever is wrong is known a call later."""

from __future__ import annotations

import signal
import struct

import numpy as np
import pytest

from cobre.comm import CollectiveFailed, TcpCommunicator, TcpConfig
from comm.tcp_ranks import LONG_S, Opening, Ranks, free_port
from comm.tcp_second import Call, Rank, of_type
from matrices import in_turn

SMALL = 64 * 1024
GROUPS = [(2, 0), (2, 1), (3, 0), (3, 1)]

# The next broadcast until one fails; how many did not.
UNTIL_FAILURE = """
def until_failure(root):
    for count in range(200):
        try:
            comm.broadcast(one, root)
        except CollectiveFailed as error:
            return say(f"{count} broadcasts, then: {error.message}")
    say("no failure in 200 broadcasts")
"""


def broadcasts_before_failure(words):
    return int(words.splitlines()[1].split()[0])


def ranks(directory, program, size, **options):
    return Ranks(size, program, directory=directory, **options)


@pytest.mark.parametrize(("size", "root"), GROUPS)
def test_the_root_of_a_small_broadcast_waits_for_nobody(tmp_path, size, root):
    program = f"""
word = np.full({SMALL} // 8, rank, float)
if rank != {root}: wait_for_word()
comm.broadcast(word, {root})
say("given" if rank == {root} else f"got {{set(word.tolist())}}")
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, size) as group:
        group.start().wait_for(root, "given")
        group.give_word()
        said = group.wait()
    for rank in set(range(size)) - {root}:
        assert said[rank] == f"got {{{float(root)}}}\n" + said[root].removeprefix("given\n"), said
    assert all("no failure" in words for words in said), said


def test_rank_0_passes_a_small_broadcast_on_without_waiting_for_the_others(tmp_path):
    program = """
if rank == 2: wait_for_word()
word = np.full(100, rank)
comm.broadcast(word, 1)
say(f"got {word[0]}")
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, 3) as group:
        group.start()
        for rank in (0, 1):
            group.wait_for(rank, "got 1")
        group.give_word()
        assert all("got 1\nno failure" in words for words in group.wait())


@pytest.mark.waits
@pytest.mark.parametrize(("size", "root"), GROUPS)
def test_a_root_is_at_most_32_broadcasts_ahead_and_each_rank_gets_them_in_order(tmp_path, size, root):
    program = f"""
if rank != {root}: wait_for_word()
got = []
for number in range(1, 41):
    word = np.full(number, number * (rank == {root}))
    comm.broadcast(word, {root})
    got.append(set(word.tolist()) == {{number}})
    if rank == {root}: say(f"gave {{number}}.")
comm.barrier()
say(f"all right: {{all(got)}}")
"""
    with ranks(tmp_path, program, size) as group:
        group.start().wait_for(root, "gave 32.")
        group.wait_until_asleep(root)
        assert "gave 33." not in group.said(root)
        group.give_word()
        assert all("all right: True" in words for words in group.wait())


@pytest.mark.waits
@pytest.mark.parametrize(("n_bytes", "most"), [(SMALL + 8, 0), (SMALL, 4), (SMALL // 2, 8)])
def test_a_root_is_at_most_256_kib_ahead(tmp_path, n_bytes, most):
    program = f"""
if rank == 1: wait_for_word()
for number in range(1, 12):
    word = np.full({n_bytes} // 8, number * (rank == 0))
    say(f"gives {{number}}.")
    comm.broadcast(word, 0)
    if set(word.tolist()) != {{number}}: say("wrong data")
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, 2) as group:
        group.start().wait_for(0, f"gives {1 + min(most, 1)}.")
        group.wait_until_asleep(0)
        assert f"gives {most + 2}." not in group.said(0)
        group.give_word()
        assert all("no failure" in words and "wrong" not in words for words in group.wait())


MISMATCHES = {
    "dtype": ("comm.broadcast, word, 0", "comm.broadcast, word.astype('f4'), 0"),
    "size": ("comm.broadcast, word, 0", "comm.broadcast, np.zeros(9), 0"),
    "much against little": ("comm.broadcast, word, 0", "comm.broadcast, np.zeros(100_000), 0"),
    "root": ("comm.broadcast, word, 0", "comm.broadcast, word, 1"),
    "barrier": ("comm.broadcast, word, 0", "comm.barrier"),
    "reduction": ("comm.broadcast, word, 1", "comm.allreduce, one, one.copy(), 'sum'"),
    "step": (
        "comm.broadcast, word, 1",
        "comm.broadcast, word, 1); comm.broadcast(word, 1); failure_of(comm.split_local",
    ),
}


@pytest.mark.waits
@pytest.mark.parametrize(("what", "odd", "size"), in_turn(MISMATCHES, (0, 1), (2, 3)))
def test_a_disagreement_is_reported_at_the_latest_by_the_next_call(tmp_path, what, odd, size):
    usual, other = MISMATCHES[what]
    root = int(usual[-1])
    program = f"""
word = np.full(8, rank, float)
try:
    failure_of(*({other},) if rank == {odd} else ({usual},))
except CollectiveFailed as error:
    say(error.message)
if "{usual}".startswith("comm.broadcast") and word[0] not in (rank, {root}): say("wrong data")
failure_of(comm.barrier)
failure_of(comm.barrier)
"""
    if what == "step":
        program = f"""
word = np.full(8, rank, float)
failure_of(comm.broadcast, word, {root})
if rank == {odd}: failure_of(comm.broadcast, word, {root})
failure_of(comm.split_local)
failure_of(comm.split_local)
"""
    with ranks(tmp_path, program, size) as group:
        said = group.start().wait()
    for words in said:
        *_, before_last, last = words.splitlines()
        assert "the ranks disagree" in before_last, said  # in the call after the broadcast, and again
        assert "the ranks disagree" in last, said
        assert last.count(" called ") >= 2, said
        assert f"rank {odd} called" in last, said
        assert "wrong data" not in words, said


def test_two_roots_of_one_step_keep_their_data_and_both_learn_of_it(tmp_path):
    program = """
word = np.full(8, rank, float)
failure_of(comm.broadcast, word, rank)  # the later one may see the earlier one's call
if set(word.tolist()) != {float(rank)}: say("wrong data")
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, 2) as group:
        said = group.start().wait()
    reported = "rank 0 called broadcast(8 x float64, root 0); rank 1 called broadcast(8 x float64, root 1)"
    for words in said:
        assert words.splitlines()[-1].startswith("the ranks disagree: " + reported), said
        assert "wrong data" not in words


@pytest.mark.few(3)
@pytest.mark.waits
@pytest.mark.parametrize(("size", "root", "victim"), [(2, 0, 1), (2, 1, 0), (3, 0, 2), (3, 1, 2), (3, 1, 0)])
def test_a_root_of_many_small_broadcasts_learns_of_a_death(tmp_path, size, root, victim):
    program = f"""{UNTIL_FAILURE}
say("ready")
if rank == {victim}: hang()
wait_for_word()
until_failure({root})
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, size) as group:
        group.start().wait_for_all("ready")
        group.signal(victim, signal.SIGKILL)
        group.processes[victim].wait(LONG_S)
        group.give_word()
        others = sorted(set(range(size)) - {victim})
        group.wait(*others)
        for rank in others:
            words = group.said(rank)
            assert broadcasts_before_failure(words) <= 32 * (2 if rank == root == 1 else 1), words
            assert words.count(f"rank {victim} (127.0.0.1:") == 2, words
            assert words.count("has died or exited") == 2, words


@pytest.mark.waits
@pytest.mark.parametrize(("size", "root", "victim"), [(2, 0, 1), (2, 1, 0), (3, 0, 2), (3, 1, 2)])
def test_a_root_that_may_not_go_further_ahead_names_the_slow_rank_after_its_timeout(
    tmp_path, size, root, victim
):
    program = f"""{UNTIL_FAILURE}
say("ready")
if rank == {victim}: hang()
wait_for_word()
until_failure({root})
"""
    with ranks(tmp_path, program, size, timeout_s=2) as group:
        group.start().wait_for_all("ready")
        group.stop(victim)
        group.give_word()
        others = sorted(set(range(size)) - {victim})
        group.wait(*others)
        for rank in others:
            words = group.said(rank)
            # The root is so far ahead of rank 0, and rank 0 of the others.
            assert broadcasts_before_failure(words) <= 32 * (2 if rank == root == 1 else 1), words
            assert "still waits in broadcast(1 x float64" in words, words
            assert f"for rank {victim}" in words, words


@pytest.mark.parametrize("leaving", ["os._exit(0)", "comm.close()", "sys.exit()"])
@pytest.mark.parametrize(("size", "root"), GROUPS)
def test_a_root_may_leave_at_once_and_the_others_get_its_data(tmp_path, size, root, leaving):
    program = f"""
say("ready")
if rank != {root}: wait_for_word()
words = [np.full({SMALL} // 8, 10 * (rank == {root}) + number) for number in range(2)]
for word in words: comm.broadcast(word, {root})
if rank == {root}: {leaving}
else:
    say([set(word.tolist()) for word in words])
    failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, size) as group:
        group.start().wait_for_all("ready")
        group.wait(root)
        group.give_word()
        said = group.wait()
    for rank in set(range(size)) - {root}:
        assert "[{10}, {11}]" in said[rank], said
        assert f"rank {root} (127.0.0.1:" in said[rank].splitlines()[-1], said


@pytest.mark.parametrize("leaving", ["os._exit(0)", "comm.close()"])
@pytest.mark.parametrize(("size", "root"), GROUPS)
def test_a_rank_may_leave_once_it_has_the_data(tmp_path, size, root, leaving):
    leaver = 1 - root
    program = f"""
word = np.full(10, rank)
comm.broadcast(word, {root})
say(f"got {{word[0]}}")
if rank == {leaver}: {leaving}
else:
    wait_for_word()
    failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, size) as group:
        group.start().wait_for_all(f"got {root}")
        group.wait(leaver)
        group.give_word()
        said = group.wait()
    for rank in set(range(size)) - {leaver}:
        assert f"rank {leaver} (127.0.0.1:" in said[rank], said


def answer(**changes):
    one = np.ones(1)
    values = {"root": 0, "count": 1, "sequence": 1, **of_type(one.dtype), **changes}
    return Call(4, **values).encode()


@pytest.mark.parametrize(
    ("frames", "reported"),
    [
        ([(0x05, b"")], "sent a frame with tag 5 and 1 bytes"),
        ([(0x0E, answer()), (0x05, b"more")], "sent a frame with tag 5 and 5 bytes"),
        ([(0x0E, answer()), (0x0E, answer())], "sent a frame with tag 14 and 49 bytes"),
        ([(0x0E, answer()[:-1])], "sent a frame with tag 14 and 48 bytes"),
        ([(0x0E, b"\xff" * 48)], "sent a call that does not exist"),
        ([(0x77, b"")], "sent a frame with tag 119"),
        ([(0x12, b"x")], "sent a Proceed that is not due"),
        ([(0x0E, answer(sequence=2))], "the ranks disagree"),
        (
            [(0x0E, answer(count=2))],
            "the ranks disagree: rank 0 called broadcast(1 x float64, root 0); rank 1",
        ),
    ],
)
def test_garbage_in_place_of_a_late_call_is_reported_by_the_next_call(frames, reported):
    port = free_port()
    opening = Opening(TcpConfig("127.0.0.1", 0, 2, port=port))
    opening.wait_until_listening()
    second = Rank(1, 2, port)
    comm = opening.outcome()
    assert isinstance(comm, TcpCommunicator)
    comm.broadcast(np.ones(1), 0)
    for tag, payload in frames:
        second._put(tag, payload)
    with pytest.raises(CollectiveFailed) as caught:
        comm.barrier()
    assert reported in caught.value.message
    second._connection.close()
    comm.close()


def test_a_half_sent_late_call_is_no_contribution_to_the_next_step():
    """Rank 1 dies behind half of its answer while rank 0 computes."""
    port = free_port()
    opening = Opening(TcpConfig("127.0.0.1", 0, 2, port=port))
    opening.wait_until_listening()
    second = Rank(1, 2, port)
    comm = opening.outcome()
    comm.broadcast(np.ones(1), 0)
    second._connection.sendall(struct.pack("!IB", 49, 0x0E) + answer()[:20])
    second._connection.close()
    with pytest.raises(CollectiveFailed, match="rank 1 .* has died or exited"):
        comm.barrier()
    comm.close()
