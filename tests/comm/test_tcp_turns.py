"""Calls that meet a call of the same communicator under way: of another thread, or the one a handler interrupted."""

from __future__ import annotations

import secrets
import signal

import pytest

from comm.tcp_ranks import Ranks


def on_tcp_and_shm(test):
    return pytest.mark.waits(pytest.mark.parametrize("backend", ["tcp", "shm"])(test))


@pytest.fixture
def ranks(tmp_path):
    def started(size, program, **settings):
        return Ranks(size, program, directory=tmp_path, **settings).start()

    return started


def pair(program, backend, directory):
    """Two ranks of either backend that keeps its own order of calls."""
    shared = {"COBRE_COMM_BACKEND": backend, "COBRE_SHM_SIZE": "2", "COBRE_SHM_TIMEOUT_SECS": "60"}
    environ = {**shared, "COBRE_SHM_NAME": f"/cobre_comm_{secrets.token_hex(8)}"}
    group = Ranks(2, program, directory=directory, environ=environ)
    for rank in range(2):
        group.start(rank, COBRE_SHM_RANK=str(rank))
    return group


def test_a_handler_that_calls_the_interrupted_communicator_gets_an_error_and_no_rank_hangs(ranks):
    program = """
def handler(*_):
    failure_of(comm.barrier)

signal.signal(signal.SIGUSR1, handler)
say("ready")
if rank == 0:
    wait_for_word()
failure_of(comm.barrier)
"""
    with ranks(2, program) as group:
        group.wait_for(1, "ready")
        group.wait_until_asleep(1)
        group.signal(1, signal.SIGUSR1)
        group.wait_for(1, "InvalidCommunicator")
        group.give_word()
        said = group.wait()
    assert "InvalidCommunicator: a signal handler called the communicator" in said[1]
    assert [words.count("no failure") for words in said] == [1, 1], said


@on_tcp_and_shm
def test_ctrl_c_ends_a_call_that_waits_for_its_turn_and_the_group_goes_on(tmp_path, backend):
    program = """
if rank == 0:
    wait_for_word()
    failure_of(comm.barrier)
else:
    thread = threading.Thread(target=failure_of, args=(comm.barrier,))
    thread.start()
    wait_until_in_call(thread)
    try:
        say("ready")
        comm.barrier()
    except KeyboardInterrupt:
        say("interrupted")
    thread.join()
failure_of(comm.barrier)
"""
    with pair(program, backend, tmp_path) as group:
        group.wait_for(1, "ready")
        group.wait_until_asleep(1)
        group.signal(1, signal.SIGINT)
        group.wait_for(1, "interrupted")  # though rank 0 has not called yet
        group.give_word()
        said = group.wait()
    assert [words.count("no failure") for words in said] == [2, 2], said


@on_tcp_and_shm
def test_python_may_end_while_a_daemon_thread_is_in_a_call(tmp_path, backend):
    program = """
thread = threading.Thread(target=failure_of, args=(comm.barrier,), daemon=True)
if rank == 1:
    thread.start()
    wait_until_in_call(thread)
    say("the end")
else:
    wait_for_word()
    failure_of(comm.barrier)
"""
    with pair(program, backend, tmp_path) as group:
        group.wait(1)
        group.give_word()
        said = group.wait()
        statuses = [group.processes[rank].returncode for rank in range(2)]
    assert (said[1], statuses) == ("the end\n", [0, 0])


@on_tcp_and_shm
def test_stats_need_not_wait_for_the_call_under_way(tmp_path, backend):
    program = """
if rank == 0:
    wait_for_word()
    comm.barrier()
else:
    thread = threading.Thread(target=comm.barrier)
    thread.start()
    wait_until_in_call(thread)
    comm.stats()
    say(f"waiting {thread.is_alive()}")
    thread.join()
say(comm.stats()["barrier"]["calls"])
"""
    with pair(program, backend, tmp_path) as group:
        group.wait_for(1, "waiting True")  # and rank 0 has not called yet
        group.give_word()
        assert group.wait() == ["1\n", "waiting True\n1\n"]
