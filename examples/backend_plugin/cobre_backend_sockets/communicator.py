"""`SocketsCommunicator`: the contract's collectives, each as one step of the meeting."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from cobre.comm import LocalCommunicator, ReduceOp
from cobre.comm.arguments import (
    Track,
    as_flat_array,
    check_allgatherv,
    check_allreduce,
    check_broadcast,
    dtype_signature,
    fold_in_rank_order,
)
from cobre.comm.regions import HeapRegion, region_of_each
from cobre.errors import CollectiveFailed, InvalidCommunicator
from cobre_backend_sockets.config import SocketsConfig
from cobre_backend_sockets.meeting import FAILURE_GRACE_S, MeetingFailed, meet

OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")


class SocketsCommunicator:
    """Ranks of one machine around a table that rank 0 keeps. Simple rather than fast."""

    backend = "sockets"
    is_leader = True

    def __init__(self, config: SocketsConfig) -> None:
        self._rank, self._size = config.rank, config.size
        self._timeout = config.timeout
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False
        self._failure: tuple[str, str] | None = None
        self._stats = {name: {"calls": 0, "bytes": 0, "wait_s": 0.0, "move_s": 0.0} for name in OPERATIONS}
        self._track = Track(config.rank, config.size, self.backend)
        self._meeting = meet(config)
        _OPEN.add(self)

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._size

    def allgatherv(self, send: Any, recv: Any, counts: Any, displs: Any) -> None:
        self._require_usable("allgatherv")
        counts, displs = check_allgatherv(send, recv, counts, displs, self._rank, self._size)
        source, target = _bytes_of(send), _bytes_of(recv)
        item = as_flat_array(recv).itemsize
        blocks = {
            rank: target[start * item : (start + count) * item]
            for rank, (start, count) in enumerate(zip(displs, counts, strict=True))
        }
        agreed = {"dtype": dtype_signature(send), "counts": counts}
        self._collective("allgatherv", agreed, source, blocks, sum(counts) * item)

    def allreduce(self, send: Any, recv: Any, op: ReduceOp | str) -> None:
        self._require_usable("allreduce")
        op = check_allreduce(send, recv, op, self._rank, self._size)
        mine = as_flat_array(send)
        parts = [np.empty_like(mine) for _ in range(self._size)]
        sinks = {rank: _bytes_of(part) for rank, part in enumerate(parts)}
        agreed = {"dtype": dtype_signature(send), "size": mine.size, "op": op}
        self._collective("allreduce", agreed, _bytes_of(send), sinks, mine.nbytes)
        fold_in_rank_order(parts, recv, op)

    def broadcast(self, buf: Any, root: int) -> None:
        self._require_usable("broadcast")
        root = check_broadcast(buf, root, self._rank, self._size)
        data = _bytes_of(buf)
        payload, sinks = (data, {}) if root == self._rank else (b"", {root: data})
        agreed = {"dtype": dtype_signature(buf), "size": as_flat_array(buf).size, "root": root}
        self._collective("broadcast", agreed, payload, sinks, len(data))

    def barrier(self) -> None:
        self._collective("barrier")

    def create_shared_region(self, count: int, dtype: Any = "float64") -> HeapRegion:
        """Every rank's own copy; if one rank cannot have it, all raise."""
        self._require_usable("create_shared_region")
        return region_of_each(count, dtype, self._without_memory)

    def _without_memory(self, count: int, dtype: Any, is_allocated: bool) -> list[int]:
        refused = {rank: memoryview(bytearray(1)) for rank in range(self._size)}
        agreed = {"dtype": dtype_signature(np.empty(0, dtype)), "count": count}
        self._collective("create_shared_region", agreed, bytes([not is_allocated]), refused)
        return [rank for rank, flag in refused.items() if flag[0]]

    def split_local(self) -> LocalCommunicator:
        self._collective("split_local")
        return LocalCommunicator()

    def stats(self) -> Mapping[str, Mapping[str, float]]:
        self._require_same_process("stats")
        return {name: dict(entry) for name, entry in self._stats.items()}

    def close(self) -> None:
        if self._is_closed or self._pid != os.getpid():
            return
        self._is_closed = True
        if self._meeting is not None:
            self._meeting.leave(f"rank {self._rank} closed its communicator")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SocketsCommunicator(rank={self._rank}, size={self._size})"

    def _require_same_process(self, operation: str) -> None:
        if self._pid != os.getpid():
            raise InvalidCommunicator(
                f"{operation}: this communicator belongs to the process this one was forked from",
                suggestion="start ranks as fresh processes instead of forking",
            )

    def _require_usable(self, operation: str) -> None:
        self._require_same_process(operation)
        if self._is_closed:
            raise InvalidCommunicator(
                f"{operation}: the communicator is closed", suggestion="call collectives before close()"
            )
        if self._failure is not None:
            raise CollectiveFailed(self._failure[0], message=self._failure[1])

    def _collective(
        self,
        operation: str,
        agreed: Mapping[str, Any] | None = None,
        payload: Any = b"",
        sinks: Mapping[int, memoryview] | None = None,
        result_bytes: int = 0,
    ) -> None:
        """One step: what all ranks must agree on, what this one gives, and where each rank's part goes."""
        self._require_usable(operation)
        with self._lock:
            self._require_usable(operation)
            started, begin_ns = time.perf_counter(), time.monotonic_ns()
            parts = dict(sinks or {})
            if self._rank in parts:
                parts.pop(self._rank)[:] = payload
            waited_s = self._exchange({"operation": operation, **(agreed or {})}, payload, parts)
            if operation in self._stats:
                entry = self._stats[operation]
                entry["calls"] += 1
                entry["bytes"] += result_bytes
                entry["wait_s"] += waited_s
                entry["move_s"] += time.perf_counter() - started - waited_s
                if self._track.is_on:
                    end_ns = time.monotonic_ns()
                    self._track.add(operation, begin_ns, end_ns, waited_s, result_bytes, is_failed=False)

    def _exchange(self, call: dict[str, Any], payload: Any, sinks: Mapping[int, memoryview]) -> float:
        if self._meeting is None:
            return 0.0
        operation = call["operation"]
        try:
            return self._meeting.exchange(call, payload, sinks, self._timeout)
        except MeetingFailed as error:
            self._failure = (operation, str(error))
            self._meeting.leave(str(error))  # no rank may wait for one that has given up
        except BaseException as error:  # raised by a signal handler: the state of the step is unknown
            self._failure = (operation, f"{operation} was interrupted on rank {self._rank} by {error!r}")
            self._meeting.leave(self._failure[1], FAILURE_GRACE_S)
            raise
        self._require_usable(operation)  # says "closed" if another thread closed it, else what failed
        raise AssertionError("a failure was recorded")

    def _drop_descriptors(self) -> None:
        if self._meeting is not None:
            self._meeting.drop_descriptors()


def _bytes_of(buffer: Any) -> memoryview:
    """The buffer's own memory, as bytes."""
    return as_flat_array(buffer).view(np.uint8).data


_OPEN: weakref.WeakSet[SocketsCommunicator] = weakref.WeakSet()


def _drop_descriptors_in_child() -> None:
    """Or a forked child would keep a dead rank looking alive."""
    for comm in list(_OPEN):
        comm._drop_descriptors()


os.register_at_fork(after_in_child=_drop_descriptors_in_child)
