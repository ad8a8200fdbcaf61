"""Calls that meet a call of the same communicator under way: of another thread, or the one a handler interrupted."""

from __future__ import annotations

import signal
import time

import pytest

from comm.tcp_ranks import Ranks


@pytest.fixture
def ranks(tmp_path):
    def started(size, program, **settings):
        return Ranks(size, program, directory=tmp_path, **settings).start()

    return started


def test_a_handler_that_calls_the_interrupted_communicator_is_told_and_nobody_hangs(ranks):
    program = """
def handler(*_):
    failure_of(comm.barrier)

signal.signal(signal.SIGUSR1, handler)
say("ready")
if rank == 0:
    time.sleep(1.5)
failure_of(comm.barrier)
"""
    with ranks(2, program, timeout_s=5) as group:
        group.wait_for(1, "ready")
        time.sleep(0.3)
        group.signal(1, signal.SIGUSR1)
        said = group.wait(seconds=8)
    assert "InvalidCommunicator: a signal handler called the communicator" in said[1]
    assert [words.count("no failure") for words in said] == [1, 1], said


def test_ctrl_c_ends_a_call_that_waits_for_its_turn_and_the_group_goes_on(ranks):
    program = """
import threading
if rank == 0:
    time.sleep(3)
    failure_of(comm.barrier)
else:
    thread = threading.Thread(target=failure_of, args=(comm.barrier,))
    thread.start()
    time.sleep(0.3)
    say("ready")
    started = time.monotonic()
    try:
        comm.barrier()
    except KeyboardInterrupt:
        say(f"interrupted {time.monotonic() - started < 1.5}")
    thread.join()
failure_of(comm.barrier)
"""
    with ranks(2, program, timeout_s=10) as group:
        group.wait_for(1, "ready")
        time.sleep(0.3)
        group.signal(1, signal.SIGINT)
        said = group.wait(seconds=15)
    assert "interrupted True" in said[1]
    assert [words.count("no failure") for words in said] == [2, 2], said
