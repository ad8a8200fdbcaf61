"""The check that needs gigabytes, and is therefore never part of the default batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.expectations import expect, expect_bytes

WINDOW = 4096
STRIDE = 2**26


@check(huge=True)
def payloads_pass_4_gib(comm: Member, ctx: Context) -> None:
    """No length field is 32 bits wide: one part, one broadcast and one reduction of more than 4 GiB.

    In place, and mostly zeros: each rank touches the payload a few times and holds it once.
    """
    big = comm.size - 1
    counts = [ctx.huge_bytes if rank == big else 7 for rank in range(comm.size)]
    displs = [7 * rank for rank in range(comm.size)]
    recv = np.zeros(displs[big] + ctx.huge_bytes, np.uint8)
    send = _source(comm, recv[displs[comm.rank] : displs[comm.rank] + counts[comm.rank]])
    _mark(ctx, send, comm.rank)
    comm.allgatherv(send, recv, counts, displs)
    for rank, (start, count) in enumerate(zip(displs, counts, strict=True)):
        _expect_marks(ctx, recv[start : start + count], rank, f"part of rank {rank}")

    payload = recv[displs[big] :]
    if comm.rank == 0:
        _mark(ctx, payload, comm.size)
    comm.broadcast(payload, 0)
    _expect_marks(ctx, payload, comm.size, "broadcast")

    send = _source(comm, payload)
    send[:] = 0
    if comm.rank == big:
        _mark(ctx, send, comm.size + 1)
    comm.allreduce(send, payload, "max")
    _expect_marks(ctx, payload, comm.size + 1, "allreduce")


def _source(comm: Member, target: NDArray[Any]) -> NDArray[Any]:
    """In place among several; alone from a buffer of its own, or nothing would move."""
    return target if comm.size > 1 else np.zeros_like(target)


def _starts(length: int) -> list[int]:
    """Where the windows with data begin: both ends, and every boundary that a counter could wrap at."""
    last = max(length - WINDOW, 0)
    edges = [edge - WINDOW // 2 for edge in (0, length // 3, 2**31, 2**32) if edge <= length]
    inner = {max(start, 0) for start in edges if start <= last - WINDOW}
    return sorted(inner | {last})


def _windows(ctx: Context, length: int, rank: int) -> list[tuple[int, NDArray[Any]]]:
    n_bytes = min(WINDOW, length)
    return [(start, ctx.data("u1", n_bytes, rank, step) | 1) for step, start in enumerate(_starts(length))]


def _mark(ctx: Context, payload: NDArray[Any], rank: int) -> None:
    for start, window in _windows(ctx, payload.size, rank):
        payload[start : start + window.size] = window


def _expect_marks(ctx: Context, payload: NDArray[Any], rank: int, what: str) -> None:
    windows = _windows(ctx, payload.size, rank)
    for start, window in windows:
        expect_bytes(payload[start : start + window.size], window, f"{what}: bytes from {start} on")
    marked = sum(int(np.count_nonzero(payload[at : at + STRIDE])) for at in range(0, payload.size, STRIDE))
    wanted = len({start + k for start, window in windows for k in range(window.size)})
    expect(marked == wanted, f"{what}: {marked} bytes that are not 0 instead of {wanted}")
