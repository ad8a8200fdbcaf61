"""`cobre.comm.run`: what is raised when a worker fails."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
import time
import traceback

import numpy as np
import pytest

from cobre.comm import CollectiveFailed, emit, run
from cobre.errors import WorkerError

IN_TURN = "backend"


def test_an_exception_is_a_worker_error_with_its_remote_traceback(backend):
    def fail_on_the_last_rank(comm):
        comm.barrier()
        if comm.rank == 2:
            raise ValueError("rank 2 is ill")
        comm.barrier()

    with pytest.raises(WorkerError, match="rank 2 failed: ValueError: rank 2 is ill") as caught:
        run(fail_on_the_last_rank, num_workers=3, backend=backend, timeout=60)
    error = caught.value
    assert (error.rank, error.exit_code, error.kind) == (2, 1, "WorkerFailed")
    assert type(error.inner) is ValueError
    assert error.__cause__ is error.inner
    text = "".join(traceback.format_exception(error))
    assert "On rank 2:" in text
    assert "in fail_on_the_last_rank" in text
    assert "CollectiveFailed" not in text
    again = pickle.loads(pickle.dumps(error))
    assert (again.rank, again.exit_code, again.inner.args) == (2, 1, ("rank 2 is ill",))


def test_the_failure_of_a_remaining_rank_is_never_raised(backend):
    def fail_slowly(comm):
        comm.barrier()
        if comm.rank == 0:
            comm.close()  # the others fail now, and end long before this rank does
            time.sleep(0.7)
            raise KeyError("culprit")
        comm.barrier()

    with pytest.raises(WorkerError) as caught:
        run(fail_slowly, num_workers=3, backend=backend, timeout=60)
    assert caught.value.rank == 0
    assert type(caught.value.inner) is KeyError


def test_a_disagreement_of_all_ranks_raises_its_own_error(backend):
    def disagree(comm):
        comm.broadcast(np.ones(1), comm.rank % 2)

    with pytest.raises(WorkerError) as caught:
        run(disagree, num_workers=2, backend=backend, timeout=60)
    assert type(caught.value.inner) is CollectiveFailed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_rank_that_dies_is_named_with_its_signal(backend, number):
    def die(comm, number):
        comm.barrier()
        if comm.rank == 1:
            print("last words", flush=True)
            os.kill(os.getpid(), number)
        comm.barrier()

    with pytest.raises(WorkerError, match=f"rank 1 failed: signal {number.value}") as caught:
        run(die, num_workers=3, backend=backend, args=(number.value,), timeout=60)
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, -number, None)
    assert "last words" in caught.value.__notes__


def test_an_exit_status_is_reported(backend):
    with pytest.raises(WorkerError, match="rank 0 failed: exit status 3") as caught:
        run(lambda comm: sys.exit(3) if comm.rank == 0 else comm.barrier(), num_workers=2, backend=backend)
    assert caught.value.exit_code == 3


def test_exiting_without_a_result_is_an_error(backend):
    with pytest.raises(WorkerError, match="rank 1 ended without returning"):
        run(lambda comm: sys.exit() if comm.rank else None, num_workers=2, backend=backend, timeout=60)


@pytest.mark.parametrize("leave", [sys.exit, os._exit])
def test_a_rank_that_closed_too_early_is_blamed_and_not_those_that_waited(leave, backend):
    def work(comm, leave):
        comm.barrier()
        if comm.rank == 1:
            leave(0)
        comm.barrier()

    with pytest.raises(WorkerError, match="rank 1 ended without returning") as caught:
        run(work, num_workers=3, backend=backend, args=(leave,), timeout=60)
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, 0, None)


def test_an_exception_whose_constructor_pickle_cannot_call_keeps_its_type(backend):
    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")
            self.two = two

    def fail(comm):
        raise Odd(1, 2)

    with pytest.raises(WorkerError) as caught:
        run(fail, num_workers=2, backend=backend, timeout=60)
    assert type(caught.value.inner) is Odd
    assert str(caught.value.inner) == "1 and 2"
    assert caught.value.inner.two == 2


def _raise_one_that_holds_a_lock(comm):
    raise ValueError("held", threading.Lock())


def _raise_one_that_comes_back_as_a_number(comm):
    class Odd(Exception):
        def __reduce__(self):
            return int, ("3",)

    raise Odd("held")


def _raise_one_that_cannot_be_shown(comm):
    class Odd(Exception):
        def __str__(self):
            raise LookupError("held")

    raise Odd


def _raise_one_of_a_module_that_only_workers_have(comm):
    module = type(sys)("only_in_workers")
    sys.modules["only_in_workers"] = module
    exec("class Odd(Exception): pass", vars(module))
    raise module.Odd("held")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "fail",
    [
        _raise_one_that_holds_a_lock,
        _raise_one_that_comes_back_as_a_number,
        _raise_one_that_cannot_be_shown,
        _raise_one_of_a_module_that_only_workers_have,
    ],
)
def test_an_exception_that_cannot_be_pickled_is_described(fail):
    travelling = type(fail)(fail.__code__, {"sys": sys, "threading": threading}, fail.__name__)
    travelling.__module__ = "__main__"  # by value: this module cannot be imported there
    with pytest.raises(WorkerError) as caught:
        run(travelling, num_workers=2, backend="shm", timeout=60)
    assert re.search("held|Odd", str(caught.value))
    assert f"in {fail.__name__}" in caught.value.inner.__notes__[0]


def test_an_unpicklable_result_is_that_rank_s_failure(backend):
    said = r"what rank \d returned cannot be sent back: .*pickle"
    with pytest.raises(WorkerError, match=said):
        run(lambda comm: threading.Lock(), num_workers=2, backend=backend, timeout=60)


def test_an_event_that_cannot_be_rebuilt_is_that_rank_s_failure(backend):
    def work(comm):
        module = type(sys)("only_in_workers")
        sys.modules["only_in_workers"] = module
        exec("class Event: pass", vars(module))
        emit(module.Event())

    with pytest.raises(WorkerError, match=r"what rank \d emitted cannot be rebuilt here: .*only_in_workers"):
        run(work, num_workers=2, backend=backend, timeout=60, on_event=lambda rank, event: None)


def test_the_timeout_kills_and_names(backend):
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"still running after 1\.5 s, now killed: rank 0, rank 1"):
        run(lambda comm: time.sleep(60), num_workers=2, backend=backend, timeout=1.5)
    assert time.monotonic() - start < 30  # they would have slept for 60


def test_a_callback_that_raises_ends_everything(backend):
    def refuse(rank, event):
        raise RuntimeError(f"no {event}")

    with pytest.raises(RuntimeError, match="no news"):
        run(lambda comm: (emit("news"), time.sleep(60)), num_workers=2, backend=backend, on_event=refuse)
