"""Allocates an MPI window: the ranks agree first that there is memory for it, and afterwards whether it worked."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.comm.backends.mpi.pages import Pages, available_for_sharing, claim
from cobre.comm.backends.mpi.regions import Window
from cobre.errors import AllocationFailed

__all__ = ["allocate"]

ROOM, REFUSED, UNCLAIMED = -1, -2, -3
ADVICE = "use fewer elements or a smaller dtype, free memory, or raise the limit named above"


def allocate(comm: Any, node: Any, mpi: Any, n_bytes: int) -> Window:
    """Collective over ``comm``: a window of zeros on every node, or `AllocationFailed` on every rank."""
    if n_bytes == 0:
        node.Barrier()
        return Window(None, Pages(0, 0, 0), 0)
    _require_room(comm, node, mpi, n_bytes)
    handle: Any = None
    pages: Pages | None = None
    problem = ROOM
    try:
        if node.size > 1:
            handle = mpi.Win.Allocate_shared(n_bytes if node.rank == 0 else 0, 1, mpi.INFO_NULL, node)
            handle.Set_errhandler(mpi.ERRORS_RETURN)
            pages = Pages.of_window(handle.Shared_query(0)[0].address, n_bytes)
        else:
            pages = Pages.of_one(n_bytes)
    except (mpi.Exception, OSError):
        problem = REFUSED
    if pages is not None and node.rank == 0 and not claim(pages.address, n_bytes):
        problem = UNCLAIMED
    outcomes = _tell(comm, mpi, problem)
    if pages is not None and (outcomes == ROOM).all():
        if handle is not None:
            handle.Lock_all(mpi.MODE_NOCHECK)
        return Window(handle, pages, n_bytes)
    if pages is not None:
        pages.release()
    if handle is not None and not (outcomes == REFUSED).any():
        handle.Free()
    failed = ", ".join(f"rank {rank}" for rank in np.flatnonzero(outcomes != ROOM))
    raise AllocationFailed(
        n_bytes,
        f"a region of {n_bytes:,} bytes could not be allocated on the node of {failed}",
        suggestion=ADVICE,
    )


def _require_room(comm: Any, node: Any, mpi: Any, n_bytes: int) -> None:
    """Raise on every rank what any node's leader finds: MPICH answers an impossible size with "other error",
    Open MPI by ending the job."""
    room = available_for_sharing()
    fits = node.rank != 0 or n_bytes <= room.bytes
    answers = _tell(comm, mpi, ROOM if fits else room.bytes)
    short = np.flatnonzero(answers != ROOM)
    if short.size == 0:
        return
    worst = int(short[answers[short].argmin()])
    source = room.source if worst == comm.rank else "free memory, cgroup limit or /dev/shm"
    raise AllocationFailed(
        n_bytes,
        f"a region of {n_bytes:,} bytes does not fit on the node of rank {worst}: {answers[worst]:,} are "
        f"available ({source})",
        suggestion=ADVICE,
    )


def _tell(comm: Any, mpi: Any, value: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Every rank's value."""
    values = np.empty(comm.size, np.int64)
    comm.Allgather((np.array([value]), mpi.INT64_T), (values, mpi.INT64_T))
    return values
