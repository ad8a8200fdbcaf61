"""What only ``local`` promises; the rest of the contract is the kit's."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from cobre.comm import (
    AllocationFailed,
    Communicator,
    InitializationFailed,
    InvalidCommunicator,
    LocalCommunicator,
    SharedMemoryProvider,
    SharedRegion,
)
from cobre.comm.backends.local import BACKEND
from cobre.comm.regions import HeapRegion
from commands import run_command


@pytest.fixture
def comm():
    with LocalCommunicator() as communicator:
        yield communicator


def test_it_is_rank_zero_of_one(comm):
    assert (comm.rank, comm.size, comm.backend, comm.is_leader) == (0, 1, "local", True)
    assert isinstance(comm, Communicator)
    assert isinstance(comm, SharedMemoryProvider)
    assert isinstance(comm.create_shared_region(1), SharedRegion)
    with pytest.raises(AttributeError):
        comm.rank = 1


def test_keywords_work_by_the_contract_s_names(comm):
    out = np.zeros(3)
    comm.allgatherv(send=np.ones(2), recv=out, counts=[2], displs=[1])
    assert out.tolist() == [0.0, 1.0, 1.0]
    comm.allreduce(send=np.ones(3), recv=out, op="sum")
    comm.broadcast(buf=out, root=0)
    assert out.tolist() == [1.0, 1.0, 1.0]


def test_broadcast_touches_nothing_even_where_it_may_not_write(comm):
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    comm.broadcast(frozen, 0)
    comm.broadcast(b"bytes", 0)


def test_stats_count_what_was_done(comm):
    comm.allgatherv(np.ones(2), np.zeros(3), [2], [1])
    comm.allreduce(np.ones(3), np.zeros(3), "max")
    comm.broadcast(np.ones(4, "f4"), 0)
    comm.barrier()
    comm.barrier()
    with pytest.raises(TypeError):
        comm.allreduce(np.ones(3), np.zeros(3, "f4"), "max")
    rows = {name: (row["calls"], row["bytes"]) for name, row in comm.stats().items()}
    assert rows == {"allgatherv": (1, 16), "allreduce": (1, 24), "broadcast": (1, 16), "barrier": (2, 0)}
    big = np.ones(1 << 20)
    comm.allreduce(big, np.empty_like(big), "sum")
    assert comm.stats()["allreduce"]["move_s"] > 0
    assert comm.stats()["allreduce"]["wait_s"] == 0


def test_a_long_copy_lets_other_threads_run():
    """Beside a communicator that never lets go of the interpreter, or a tick between two calls would do."""
    released, held = (_ticks_in_a_copy(release_gil_bytes=limit) for limit in (1 << 20, 1 << 40))
    assert released > 2 * held + 1


def _ticks_in_a_copy(release_gil_bytes):
    """How often another thread runs during one long copy: the median of several."""
    send, recv = np.ones(1 << 27, np.uint8), np.zeros(1 << 27, np.uint8)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)
            time.sleep(0.0005)

    per_call = []
    worker = threading.Thread(target=tick)
    worker.start()
    try:
        with LocalCommunicator(release_gil_bytes=release_gil_bytes) as comm:
            for _ in range(9):
                before = len(ticks)
                comm.allreduce(send, recv, "max")
                per_call.append(len(ticks) - before)
    finally:
        done.set()
        worker.join()
    return statistics.median(per_call)


def test_after_close_collectives_refuse_and_the_rest_answers(comm):
    comm.barrier()
    comm.close()
    comm.close()
    for call in (
        lambda: comm.barrier(),
        lambda: comm.broadcast(np.zeros(1), 0),
        lambda: comm.allreduce(np.zeros(1), np.zeros(1), "sum"),
        lambda: comm.allgatherv(np.zeros(1), np.zeros(1), [1], [0]),
        lambda: comm.create_shared_region(1),
        lambda: comm.split_local(),
    ):
        with pytest.raises(InvalidCommunicator, match="closed"):
            call()
    assert (comm.rank, comm.size, comm.backend) == (0, 1, "local")
    assert comm.stats()["barrier"]["calls"] == 1


def test_a_forked_child_is_refused():
    code = """
import os, sys, numpy as np
from cobre.comm import LocalCommunicator, InvalidCommunicator
comm = LocalCommunicator()
child = os.fork()
if child == 0:
    refused = 0
    for call in (comm.barrier, lambda: comm.broadcast(np.zeros(1), 0), comm.split_local,
                 lambda: comm.create_shared_region(1), comm.stats):
        try:
            call()
        except InvalidCommunicator as error:
            refused += "forked" in str(error)
    comm.close()
    fresh = LocalCommunicator()
    fresh.barrier()
    os._exit(0 if refused == 5 else 1)
status = os.waitpid(child, 0)[1]
comm.barrier()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_daemon_thread_at_exit_is_not_reported_as_a_leak(is_closed):
    program = f"""
import threading, time
from cobre.comm import LocalCommunicator
comm = LocalCommunicator()
def watch():
    while True:
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
if {is_closed}:
    comm.close()
"""
    done = run_command([sys.executable, "-c", program])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_split_local_returns_a_new_communicator(comm):
    with comm.split_local() as node:
        assert (node.rank, node.size) == (0, 1)
    comm.barrier()


def test_ranks_of_local_are_started_as_one_process():
    (command,) = BACKEND.rank_commands(["prog", "x"], 1)
    assert command.argv == ("prog", "x")
    assert command.env == {"COBRE_COMM_BACKEND": "local"}
    with pytest.raises(InitializationFailed, match="one rank, not 3"):
        BACKEND.rank_commands(["prog"], 3)


class TestHeapRegion:
    def test_memory_is_freed_with_the_last_view(self):
        region = HeapRegion(1000)
        region.as_mut_slice()[:] = 7
        view = region.as_slice()
        watched = weakref.ref(region._array)
        region.close()
        gc.collect()
        assert view[999] == 7
        assert watched() is not None
        del view
        gc.collect()
        assert watched() is None

    def test_a_read_only_view_cannot_be_made_writable(self):
        view = HeapRegion(4).as_slice()
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True

    @pytest.mark.parametrize("dtype", ["f8", "?", [("a", "i4"), ("b", "f8", 3)], ">i2"])
    @pytest.mark.parametrize("count", [0, 1, 7])
    def test_every_carried_dtype_and_no_elements_at_all(self, count, dtype):
        region = HeapRegion(count, dtype)
        assert (region.count, region.dtype) == (count, np.dtype(dtype))
        assert region.as_slice().shape == region.as_mut_slice().shape == (count,)
        assert region.as_slice().tobytes() == bytes(count * region.dtype.itemsize)
        assert region.as_slice().dtype == region.dtype

    @pytest.mark.parametrize("count", [1 << 62, 1 << 63, 10**30])
    def test_an_impossible_size_is_refused_with_what_was_asked_and_what_there_is(self, count):
        with pytest.raises(AllocationFailed, match="available") as caught:
            HeapRegion(count)
        assert caught.value.requested_bytes == 8 * count

    def test_more_than_the_machine_has_is_refused_before_it_is_touched(self):
        with open("/proc/meminfo") as f:
            total = 1024 * int(f.readline().split()[1])
        with pytest.raises(AllocationFailed):
            HeapRegion(total, "u1")

    def test_numpy_s_own_refusal_is_mapped(self, monkeypatch):
        def refuse(*args, **kwargs):
            raise MemoryError("no room")

        monkeypatch.setattr(np, "empty", refuse)
        with pytest.raises(AllocationFailed) as caught:
            HeapRegion(3)
        assert isinstance(caught.value.__cause__, MemoryError)

    def test_a_count_that_is_no_whole_number_is_refused(self):
        with pytest.raises(TypeError, match="1.5(.|\n)*fix: "):
            HeapRegion(1.5)

    @pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", "V4", ("f8", (2,)), [], "V0"])
    def test_dtypes_that_cannot_be_carried_are_refused(self, dtype):
        with pytest.raises(TypeError, match="fix: "):
            HeapRegion(3, dtype)

    def test_pages_are_claimed_when_it_is_made(self):
        before = _resident()
        region = HeapRegion(64 << 20, "u1")
        assert _resident() - before > 60 << 20
        region.close()


def _resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
