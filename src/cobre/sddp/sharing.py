"""One copy per node: data that every rank reads, in memory that the ranks of a machine share."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from cobre.comm import GroupMember, ReduceOp
from cobre.errors import CobreError

T = TypeVar("T")
ALIGNMENT = 64


def share(comm: GroupMember, value: T | None) -> T:
    """Collective: rank 0's ``value``, its arrays read-only and in one copy per node.

    Only rank 0's argument is looked at. Whatever is no array travels by pickle and is each rank's own.
    """
    buffers: list[pickle.PickleBuffer] = []
    skeleton = b""
    if comm.rank == 0:
        skeleton = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers]
    sizes = _broadcast_bytes(comm, np.array([len(view) for view in views], dtype=np.int64).tobytes())
    lengths = np.frombuffer(sizes, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(-(-lengths // ALIGNMENT) * ALIGNMENT)))
    skeleton = _broadcast_bytes(comm, skeleton)
    if not starts[-1]:  # nothing but what each rank has for itself
        own: T = pickle.loads(skeleton, buffers=[np.empty(0, dtype=np.uint8)] * len(lengths))  # noqa: S301
        return own
    region = comm.create_shared_region(int(starts[-1]), np.uint8)
    memory = region.as_mut_block(0, region.count)
    for view, start in zip(views, starts, strict=False):
        memory[start : start + len(view)] = view
    comm.broadcast(memory, 0)
    shared = region.as_slice()
    parts = [shared[start : start + n] for start, n in zip(starts, lengths, strict=False)]
    result: T = pickle.loads(skeleton, buffers=parts)  # noqa: S301 - rank 0 of this very group wrote it
    return result


def tell_all(comm: GroupMember, order: T | None) -> T:
    """Collective: rank 0's ``order`` on every rank, by `share`; a rank that is alone takes it as it is."""
    return share(comm, order) if comm.size > 1 or order is None else order


def broadcast_value(comm: GroupMember, value: T | None, root: int) -> T:
    """Collective: the ``value`` of rank ``root``, small and by pickle, on every rank."""
    data = pickle.dumps(value) if comm.rank == root else b""
    found: T = pickle.loads(_broadcast_bytes(comm, data, root))  # noqa: S301 - a rank of this group wrote it
    return found


def share_failure(comm: GroupMember, failure: CobreError | None) -> None:
    """Collective: raise on every rank the error of the first rank that has one; return if none has."""
    mine = np.array([comm.size if failure is None else comm.rank], dtype=np.int64)
    first = np.empty(1, dtype=np.int64)
    comm.allreduce(mine, first, ReduceOp.MIN)
    if int(first[0]) == comm.size:
        return
    root = int(first[0])
    if failure is not None:
        failure.is_shared = True
    data = pickle.dumps(failure) if comm.rank == root else b""
    error: CobreError = pickle.loads(_broadcast_bytes(comm, data, root))  # noqa: S301 - a rank of this group wrote it
    raise error


def together(comm: GroupMember, step: Callable[[], None]) -> None:
    """Collective: do ``step`` on every rank; if one fails, all raise its error. A barrier otherwise."""
    failure: CobreError | None = None
    try:
        step()
    except CobreError as error:
        failure = error
    share_failure(comm, failure)


def _broadcast_bytes(comm: GroupMember, data: bytes, root: int = 0) -> bytes:
    length = np.array([len(data)], dtype=np.int64)
    comm.broadcast(length, root)
    buffer = (
        np.frombuffer(data, dtype=np.uint8) if comm.rank == root else np.empty(int(length[0]), dtype=np.uint8)
    )
    if len(buffer):
        comm.broadcast(buffer, root)
    return buffer.tobytes()
