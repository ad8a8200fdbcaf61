"""`cobre.comm.run`: results, events, and refused arguments."""

from __future__ import annotations

import math
import os
import threading

import numpy as np
import pytest

from cobre.comm import emit, run
from cobre.errors import CobreError, InvalidBackend, WorkerError

IN_TURN = "backend"


def test_results_come_in_rank_order_with_arguments_passed(backend):
    def work(comm, factor, *, plus):
        total = np.empty(1)
        comm.allreduce(np.array([factor * comm.rank]), total, "sum")
        return comm.rank, comm.size, comm.backend, total[0] + plus

    results = run(work, num_workers=3, backend=backend, args=[2.0], kwargs={"plus": 0.5}, timeout=60)
    assert results == [(rank, 3, backend, 6.5) for rank in range(3)]


def test_large_arguments_and_results_arrive_whole(backend):
    data = np.arange(3_000_001, dtype=np.float64)
    results = run(
        lambda comm, a: a * (comm.rank + 1), num_workers=2, backend=backend, args=(data,), timeout=60
    )
    assert all(np.array_equal(result, data * (rank + 1)) for rank, result in enumerate(results))


def test_events_arrive_in_order_per_rank_while_ranks_run(backend):
    def work(comm):
        for number in range(200):
            emit({"number": number})
        comm.barrier()
        emit("last")

    seen = {0: [], 1: [], 2: []}
    threads = set()

    def note(rank, event):
        seen[rank].append(event)
        threads.add(threading.get_ident())

    run(work, num_workers=3, backend=backend, on_event=note, timeout=60)
    assert list(seen.values()) == [[*({"number": number} for number in range(200)), "last"]] * 3
    assert threads == {threading.get_ident()}


def test_output_of_workers_is_shown(backend, capsys):
    run(lambda comm: print(f"from {comm.rank}"), num_workers=2, backend=backend, timeout=60)
    assert sorted(capsys.readouterr().out.splitlines()) == ["from 0", "from 1"]


def test_several_runs_at_once_from_threads(backend):
    results = {}

    def call(number):
        def work(comm, number):
            total = np.empty(1)
            comm.allreduce(np.array([float(number)]), total, "sum")
            return total[0]

        results[number] = run(work, num_workers=2, backend=backend, args=(number,), timeout=60)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [2.0 * number] * 2 for number in range(3)}


def test_one_worker_runs_in_this_process():
    events = []

    def work(comm, x):
        emit(x)
        thread = threading.Thread(target=emit, args=("from a thread",))
        thread.start()
        thread.join()
        return os.getpid(), comm.size, comm.backend

    [result] = run(work, num_workers=1, args=(3,), on_event=lambda rank, event: events.append((rank, event)))
    assert result == (os.getpid(), 1, "local")
    assert events == [(0, 3), (0, "from a thread")]


def test_one_worker_keeps_the_backend_that_was_asked_for(backend):
    assert run(lambda comm: (comm.backend, comm.size), num_workers=1, backend=backend) == [(backend, 1)]


def test_one_worker_fails_like_many():
    with pytest.raises(WorkerError, match="rank 0 failed: ValueError: ill") as caught:
        run(lambda comm: (_ for _ in ()).throw(ValueError("ill")), num_workers=1)
    assert caught.value.__cause__ is caught.value.inner


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("fn", "options", "error", "said"),
    [
        (3, {}, TypeError, "3 is no function"),
        (print, {"args": 5}, TypeError, "not iterable"),
        (print, {"timeout": 0}, ValueError, "a timeout of 0 s leaves no time"),
        (print, {"timeout": math.nan}, ValueError, "leaves no time"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(fn, options, error, said, workers):
    with pytest.raises(error, match=said):
        run(fn, num_workers=workers, **options)


def test_emitting_outside_a_run_does_nothing():
    emit("nobody listens")


@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("workers", [1, 2])
def test_fork_is_refused(method, workers):
    with pytest.raises(CobreError, match=method) as caught:
        run(print, num_workers=workers, start_method=method)
    assert caught.value.kind == "IncompatibleSettings"
    assert caught.value.suggestion


@pytest.mark.parametrize("count", [0, -1])
def test_no_workers_are_refused(count):
    with pytest.raises(ValueError, match="pass 1 or more"):
        run(print, num_workers=count)


def test_an_unknown_backend_is_refused():
    with pytest.raises(InvalidBackend):
        run(print, num_workers=2, backend="pigeon")


def test_local_cannot_be_several():
    with pytest.raises(CobreError, match="one rank"):
        run(print, num_workers=2, backend="local")


def test_unpicklable_arguments_are_refused_before_anything_starts(backend):
    with pytest.raises(CobreError, match="cannot be sent") as caught:
        run(print, num_workers=2, backend=backend, args=(threading.Lock(),))
    assert caught.value.kind == "IncompatibleSettings"


def test_workers_share_the_cpus(backend, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert run(lambda comm: os.environ["OMP_NUM_THREADS"], num_workers=2, backend=backend) == [share] * 2


def _variable(comm):
    return os.environ.get("COBRE_TEST_VARIABLE")


def test_workers_see_the_variables_given_to_them():
    assert run(_variable, num_workers=2, environment={"COBRE_TEST_VARIABLE": "7"}) == ["7", "7"]
    assert "COBRE_TEST_VARIABLE" not in os.environ
