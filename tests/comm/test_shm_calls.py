"""The collectives as methods: arguments by position and by name, and calls at the wrong moment."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from cobre.comm import ShmCommunicator, ShmConfig
from shm_ranks import Ranks, fresh_name, run
from system_calls import interrupted_barrier


@pytest.fixture
def comm():
    with ShmCommunicator.attach(ShmConfig(name=fresh_name(), rank=0, size=1)) as opened:
        yield opened


def test_arguments_may_be_named(comm):
    total, parts, buf = np.zeros(2), np.zeros(2), np.ones(2)
    comm.allreduce(np.ones(2), op="sum", recv=total)
    comm.allgatherv(recv=parts, send=np.ones(2), displs=[0], counts=[2])
    comm.broadcast(root=0, buf=buf)
    assert (total == 1).all()
    assert (parts == 1).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda comm: comm.allreduce(np.ones(2), np.ones(2)), "missing the argument 'op'"),
        (lambda comm: comm.broadcast(np.ones(2), 0, 1), "takes 2 arguments but 3 were given"),
        (lambda comm: comm.broadcast(np.ones(2), 0, buf=1), "multiple values for argument 'buf'"),
        (lambda comm: comm.broadcast(np.ones(2), source=0), "unexpected keyword argument 'source'"),
        (lambda comm: comm.barrier(1), "takes no arguments"),
        (lambda comm: comm.allreduce(np.ones(2), np.ones(2), None), "op is None"),
        (lambda comm: comm.allreduce(np.ones(2), np.ones(2), "\ud800"), "not a reduction"),
    ],
)
def test_wrong_arguments_are_named(comm, call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call(comm)
    comm.barrier()


def test_help_lists_the_arguments():
    assert list(inspect.signature(ShmCommunicator.allgatherv).parameters) == [
        "self",
        "send",
        "recv",
        "counts",
        "displs",
    ]


def test_a_communicator_that_was_never_initialised_is_refused():
    with pytest.raises(TypeError, match="never initialised"):
        ShmCommunicator.__new__(ShmCommunicator).barrier()


def test_a_signal_handler_cannot_call_what_it_interrupted():
    handler = """
def handler(number, frame):
    attempt(comm.barrier)
"""
    with Ranks(2, interrupted_barrier(handler)) as ranks:
        interrupted, other = ranks.ranks
        inner = interrupted.hear()
        other.go_on()
        ranks.finish()
    assert inner["error"] == "InvalidCommunicator", interrupted.output
    assert "signal handler" in inner["text"], interrupted.output
    assert interrupted.said[1]["error"] is None, interrupted.output
    assert other.said[0]["error"] is None, other.output


def test_threads_take_turns():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config())
def work():
    for _ in range(2000):
        comm.barrier()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
say(calls=comm.stats()["barrier"]["calls"])
""",
    )
    assert [rank.said for rank in ranks] == [[{"calls": 8000}]] * 2
