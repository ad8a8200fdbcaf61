"""A correct communicator whose ranks are threads of one process: small, and easy to break on purpose.

Every step of a collective is a method of its own, so that `faulty` can replace exactly one of them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

import numpy as np

from cobre.comm import arguments
from cobre.comm.regions import HeapRegion, checked_request, require_memory
from cobre.errors import CollectiveFailed, InvalidCommunicator

OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")


class Group:
    """What the ranks share: how far each has come, and what it offers in this step and the one before."""

    def __init__(self, size, timeout_s=5.0):
        self.size, self.timeout_s = size, timeout_s
        self.changed = threading.Condition()
        self.entered = [0] * size
        self.left = [False] * size
        # Two sets are enough: nobody enters step n + 2 before everybody has left step n.
        self.offers = [[None] * size, [None] * size]

    def exchange(self, rank, operation, offer):
        """Everybody's offers of this step, in rank order, once all have come."""
        with self.changed:
            self.entered[rank] += 1
            step = self.entered[rank]
            self.offers[step % 2][rank] = (operation, offer)
            self.changed.notify_all()

            def settled():
                missing = self.missing(step)
                return not missing or any(self.left[each] for each in missing)

            self.changed.wait_for(settled, self.timeout_s)
            missing = self.missing(step)
            if missing:
                raise CollectiveFailed(operation, 0, f"{operation}: no sign of ranks {missing}")
            return list(self.offers[step % 2])

    def missing(self, step):
        return [rank for rank in range(self.size) if self.entered[rank] < step]

    def leave(self, rank):
        with self.changed:
            self.left[rank] = True
            self.changed.notify_all()


class ThreadedCommunicator:
    """One rank of a `Group`, with true sharing: rank 0 leads, a region is one array for all."""

    backend = "threaded"

    def __init__(self, group, rank):
        self._group, self._rank, self._size = group, rank, group.size
        self._pid, self._is_closed, self._failure = os.getpid(), False, None
        self._turn = threading.Lock()
        self._stats = {op: dict.fromkeys(("calls", "bytes", "wait_s", "move_s"), 0) for op in OPERATIONS}

    @property
    def rank(self):
        return self._rank

    @property
    def size(self):
        return self._size

    @property
    def is_leader(self):
        return self._rank == 0

    def stats(self):
        self._require_same_process()
        return {op: dict(counts) for op, counts in self._stats.items()}

    def allgatherv(self, send, recv, counts, displs):
        self._require_usable()
        counts, displs = arguments.check_allgatherv(send, recv, counts, displs, self._rank, self._size)
        with self._turn:
            agreed = (arguments.dtype_signature(send), *counts)
            parts = self._exchange("allgatherv", agreed, memory_of(send).tobytes())
            self._place(parts, recv, counts, displs)
            self._count("allgatherv", sum(len(part) for part in parts))

    def allreduce(self, send, recv, op):
        self._require_usable()
        op = arguments.check_allreduce(send, recv, op, self._rank, self._size)
        with self._turn:
            array = arguments.as_flat_array(send)
            parts = self._exchange(
                "allreduce", (arguments.dtype_signature(send), array.size, op), array.tobytes()
            )
            self._fold(
                [np.frombuffer(part, array.dtype) for part in parts], arguments.as_flat_array(recv), op
            )
            self._count("allreduce", array.nbytes)

    def broadcast(self, buf, root):
        self._require_usable()
        root = arguments.check_broadcast(buf, root, self._rank, self._size)
        with self._turn:
            memory = memory_of(buf)
            offer = memory.tobytes() if self._rank == root else b""
            parts = self._exchange("broadcast", (arguments.dtype_signature(buf), memory.size, root), offer)
            if self._rank != root:
                self._take(parts[root], buf)
            self._count("broadcast", memory.size)

    def barrier(self):
        self._require_usable()
        with self._turn:
            self._exchange("barrier", (), None)
            self._count("barrier", 0)

    def create_shared_region(self, count, dtype="float64"):
        self._require_usable()
        count, dtype, requested = checked_request(count, dtype)
        require_memory(requested)
        with self._turn:
            memory = self._allocate(count, dtype) if self.is_leader else None
            memory = self._exchange("create_shared_region", (count, str(dtype)), memory)[0]
        return self._region(memory)

    def split_local(self):
        self._require_usable()
        with self._turn:
            group = Group(self._size, self._group.timeout_s) if self.is_leader else None
            group = self._exchange("split_local", (), group)[0]
        return type(self)(group, self._rank)

    def close(self):
        self._is_closed = True
        self._group.leave(self._rank)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def _require_same_process(self):
        if self._pid != os.getpid():
            raise InvalidCommunicator("the communicator belongs to the parent of this process")

    def _require_usable(self):
        self._require_same_process()
        if self._is_closed:
            raise InvalidCommunicator
        if self._failure is not None:
            raise self._failure

    def _exchange(self, operation, agreed, payload):
        """Everybody's payloads in rank order; whoever disagrees on the call breaks it for all."""
        try:
            offers = self._group.exchange(self._rank, operation, (agreed, payload))
            calls = [(name, offer[0]) for name, offer in offers]
            if any(call != calls[0] for call in calls):
                raise CollectiveFailed(operation, 0, f"the ranks called {calls}")
        except CollectiveFailed as failure:
            self._failure = failure
            raise
        return [offer[1] for _, offer in offers]

    def _place(self, parts, recv, counts, displs):
        memory, width = memory_of(recv), arguments.as_flat_array(recv).itemsize
        for part, start in zip(parts, displs, strict=True):
            memory[start * width : start * width + len(part)] = np.frombuffer(part, np.uint8)

    def _fold(self, parts, recv, op):
        arguments.fold_in_rank_order(parts, recv, op)

    def _take(self, payload, buf):
        memory_of(buf)[:] = np.frombuffer(payload, np.uint8)

    def _allocate(self, count, dtype):
        return np.zeros(count, dtype)

    def _region(self, memory):
        return ThreadedRegion(self, memory)

    def _count(self, operation, n_bytes):
        self._stats[operation]["calls"] += 1
        self._stats[operation]["bytes"] += n_bytes


class ThreadedRegion:
    """A view of the one array that all ranks hold."""

    def __init__(self, comm, memory):
        self._comm, self._memory, self._is_closed = comm, memory, False
        self.count, self.dtype = memory.size, memory.dtype

    def as_slice(self):
        view = self._open()[:]
        view.flags.writeable = False
        return view

    def as_mut_slice(self):
        return self._open()[: self.count if self._comm.is_leader else 0]

    def as_mut_block(self, start, count):
        memory = self._open()
        if start < 0 or count < 0 or start + count > self.count:
            raise IndexError(f"block of {count} at {start}, of {self.count}")
        return memory[start : start + count]

    def fence(self):
        self._open()
        self._comm._exchange("fence", (), None)

    def close(self):
        self._is_closed = True

    def _open(self):
        if self._is_closed:
            raise InvalidCommunicator("the region is closed")
        return self._memory

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


class HeapCommunicator(ThreadedCommunicator):
    """The same without true sharing: everybody leads, and has regions of its own."""

    is_leader = True

    def create_shared_region(self, count, dtype="float64"):
        self._require_usable()
        return HeapRegion(count, dtype)

    def split_local(self):
        self._require_usable()
        return type(self)(Group(1), 0)


def memory_of(buffer):
    """The bytes of a buffer, flat and without a copy."""
    return arguments.as_flat_array(buffer).view(np.uint8)


def run_threaded(fn, size, cls=ThreadedCommunicator, deadline_s=30.0, timeout_s=5.0):
    """What ``fn(comm)`` returned or raised in each of ``size`` ranks; one rank runs in the calling thread.

    A rank that is done, or failed, leaves, so that nobody waits for it. ``timeout_s`` is that of a collective.
    """
    group, outcomes = Group(size, timeout_s), [None] * size

    def rank_main(rank):
        comm = cls(group, rank)
        try:
            outcomes[rank] = fn(comm)
        except Exception as error:
            outcomes[rank] = error
        finally:
            with contextlib.suppress(Exception):
                comm.close()
            group.leave(rank)

    if size == 1:
        rank_main(0)
        return outcomes
    threads = [threading.Thread(target=rank_main, args=(rank,), daemon=True) for rank in range(size)]
    end = time.monotonic() + deadline_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    stuck = [rank for rank, thread in enumerate(threads) if thread.is_alive()]
    if stuck:
        raise TimeoutError(f"ranks {stuck} still run after {deadline_s} s")
    return outcomes
