"""Every way a rank can fail, in every collective: an exception on every other rank that names it, never a hang."""

from __future__ import annotations

import signal

import pytest

from comm.tcp_ranks import CALLS, Ranks
from matrices import in_turn

SIZE = 3


def ranks(directory, program, size=SIZE, **options):
    return Ranks(size, program, directory=directory, **options)


@pytest.mark.few(3)
@pytest.mark.waits
@pytest.mark.parametrize(("call", "victim"), in_turn(CALLS, (0, 1, 2)))
def test_a_killed_rank_is_named_at_once(tmp_path, call, victim):
    program = f"""
say("ready")
if rank == {victim}: hang()
failure_of({CALLS[call]})
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program) as group:
        group.start()
        group.wait_for_all("ready")
        group.signal(victim, signal.SIGKILL)
        said = group.wait()
        for rank in {0, 1, 2} - {victim}:
            assert f"rank {victim} (" in said[rank], said
            assert said[rank].count("has died or exited") == 2, said  # not "after 60 s still waits"


@pytest.mark.parametrize("victim", [1, 2])
def test_a_death_reaches_the_others_while_rank_0_computes(tmp_path, victim):
    program = f"""
say("ready")
if rank == 0: wait_for_word()
if rank == {victim}: hang()
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program) as group:
        group.start()
        group.wait_for_all("ready")
        group.signal(victim, signal.SIGKILL)
        waiting = 3 - victim
        group.wait(waiting)
        group.give_word()
        group.wait(0)
        for rank in (0, waiting):
            assert f"rank {victim} (" in group.said(rank)
            assert "has died or exited" in group.said(rank)


@pytest.mark.few(3)
@pytest.mark.waits
@pytest.mark.parametrize(("call", "victim"), in_turn(CALLS, (0, 1)))
def test_a_stopped_rank_is_named_after_the_timeout(tmp_path, call, victim):
    program = f"""
say("ready")
if rank == {victim}: hang()
wait_for_word()
failure_of({CALLS[call]})
"""
    with ranks(tmp_path, program, timeout_s=2) as group:
        group.start()
        group.wait_for_all("ready")
        group.stop(victim)
        group.give_word()
        others = sorted({0, 1, 2} - {victim})
        said = group.wait(*others)
        for rank in others:
            assert f"rank {victim}" in said[rank], said
            assert "still waits in" in said[rank], said


@pytest.mark.few(3)
@pytest.mark.waits
@pytest.mark.parametrize(
    "how", ["sys.exit(3)", "raise ValueError('mine')", "comm.close(); hang()", "os._exit(0)"]
)
@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_leaves_is_named_at_once(tmp_path, how, victim):
    program = f"""
if rank == {victim}:
    {how}
else:
    failure_of(comm.barrier)
"""
    others = {0, 1, 2} - {victim}
    with ranks(tmp_path, program) as group:
        said = group.start().wait(*others)
        for rank in others:
            assert f"rank {victim} (" in said[rank], said
            assert "still waits" not in said[rank], said


def test_a_computing_rank_is_not_interrupted_by_one_that_leaves(tmp_path):
    program = """
comm.barrier()
if rank == 2: comm.close()
time.sleep(0.5)
say("undisturbed")
"""
    with ranks(tmp_path, program) as group:
        said = group.start().wait()
    assert all("undisturbed" in words and "Traceback" not in words for words in said), said


MISMATCHES = {
    "operation": ("comm.barrier", "comm.allreduce, one, one.copy(), 'sum'"),
    "dtype": (
        "comm.allreduce, one, one.copy(), 'sum'",
        "comm.allreduce, one.astype('f4'), one.astype('f4'), 'sum'",
    ),
    "size": ("comm.allreduce, one, one.copy(), 'sum'", "comm.allreduce, many, many.copy(), 'sum'"),
    "reduction": ("comm.allreduce, one, one.copy(), 'sum'", "comm.allreduce, one, one.copy(), 'max'"),
    "root": ("comm.broadcast, big, 0", "comm.broadcast, big, 1"),
    "broadcast size": ("comm.broadcast, big, 0", "comm.broadcast, big[1:], 0"),
    "broadcast dtype": ("comm.broadcast, big, 1", "comm.broadcast, big.astype('f4'), 1"),
    "counts": (
        "comm.allgatherv, one, np.ones(size + 1), ones, places",
        "comm.allgatherv, one, np.ones(size + 1), [2, *ones[1:]] if rank else ones,"
        " [0, *range(2, size + 1)] if rank else places",
    ),
    "large against small": (
        "comm.allgatherv, big, np.ones(size * big.size), [big.size] * size, [big.size * r for r in range(size)]",
        "comm.barrier",
    ),
    "region": ("comm.create_shared_region, 5", "comm.create_shared_region, 6"),
}


@pytest.mark.waits
@pytest.mark.parametrize(("what", "odd", "size"), in_turn(MISMATCHES, (0, 1), (2, 3)))
def test_a_disagreement_is_reported_on_every_rank_and_repeated(tmp_path, what, odd, size):
    usual, other = MISMATCHES[what]
    if what == "counts" and odd == 0:
        pytest.skip("rank 0 would refuse its own counts")
    program = f"""
failure_of(*({other},) if rank == {odd} else ({usual},))
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, size) as group:
        said = group.start().wait()
    for words in said:
        assert words.count("the ranks disagree") == 2, said
        assert f"rank {odd} called" in words, said
        assert words.count(" called ") >= 4, said  # the calls of other ranks are reported, too


def test_an_exception_in_a_signal_handler_breaks_the_group_for_all(tmp_path):
    program = """
say("ready")
if rank == 1:
    def handler(*_): raise RuntimeError("stop")
    signal.signal(signal.SIGUSR1, handler)
    try: comm.barrier()
    except RuntimeError: say("interrupted")
    failure_of(comm.barrier)
    say("told")
    hang()
elif rank == 0:
    wait_for_word()
    failure_of(comm.barrier)
else:
    failure_of(comm.barrier)
"""
    with ranks(tmp_path, program) as group:
        group.start()
        group.wait_for_all("ready")
        group.wait_until_asleep(1)
        group.signal(1, signal.SIGUSR1)
        group.wait_for(1, "told")
        group.give_word()
        said = group.wait(0, 2)
    assert "interrupted" in said[1]
    for words in said:
        assert "rank 1 was interrupted by a signal in barrier()" in words, said


@pytest.mark.parametrize("victim", [0, 1])
def test_ctrl_c_ends_a_waiting_rank_at_once(tmp_path, victim):
    program = f"""
say("ready")
if rank != {victim}: wait_for_word()
failure_of(comm.barrier)  # of two ranks the interrupted one had already contributed: this one may complete
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, 2) as group:
        group.start()
        group.wait_for_all("ready")
        group.wait_until_asleep(victim)
        group.signal(victim, signal.SIGINT)
        group.wait(victim)
        assert "KeyboardInterrupt" in group.said(victim)
        group.give_word()
        said = group.wait()
    assert f"rank {victim}" in said[1 - victim], said


def test_a_forked_child_does_not_keep_a_dead_rank_alive(tmp_path):
    program = """
say("ready")
if rank == 1:
    child = os.fork()
    if child == 0:
        wait_for_word()
        os._exit(0)
    say("forked")
    hang()
failure_of(comm.barrier)
"""
    with ranks(tmp_path, program) as group:
        group.start()
        group.wait_for(1, "forked")
        group.signal(1, signal.SIGKILL)
        group.wait(0, 2)
        assert "rank 1 (" in group.said(0)
        assert "has died or exited" in group.said(0)
        group.give_word()


def test_closing_from_another_thread_ends_a_waiting_call(tmp_path):
    program = """
if rank == 0:
    thread = threading.Thread(target=failure_of, args=(comm.barrier,))
    thread.start()
    wait_until_in_call(thread)
    comm.close()
    thread.join()
    say("closed")
else:
    wait_for_word()
    failure_of(comm.barrier)
    failure_of(comm.barrier)
"""
    with ranks(tmp_path, program, 2) as group:
        group.start().wait_for(0, "closed")
        group.give_word()
        said = group.wait()
    assert "InvalidCommunicator" in said[0], said
    assert "rank 0" in said[1], said
