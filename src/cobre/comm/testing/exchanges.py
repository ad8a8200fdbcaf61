"""One collective with seeded data, compared byte for byte with what it must deliver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm.testing.checks import Context, Member
from cobre.comm.testing.expectations import as_bytes, expect_bytes
from cobre.comm.testing.folding import fold

__all__ = ["exchange_broadcast", "exchange_gather", "exchange_reduce", "gathered", "packed"]


def exchange_gather(
    comm: Member,
    ctx: Context,
    dtype: Any,
    counts: Sequence[int],
    displs: Sequence[int] | None = None,
    step: int = 0,
) -> NDArray[Any]:
    """Gather the seeded data of all ranks into a buffer full of other data; return what arrived."""
    displs = packed(counts) if displs is None else displs
    send = ctx.data(dtype, counts[comm.rank], comm.rank, step)
    recv, expected = gathered(ctx, dtype, counts, displs, step)
    comm.allgatherv(send, recv, counts, displs)
    expect_bytes(recv, expected, f"allgatherv of {np.dtype(dtype)}, counts {counts}, displs {displs}")
    return recv


def exchange_reduce(
    comm: Member, ctx: Context, dtype: Any, count: int, op: str, step: int = 0
) -> NDArray[Any]:
    """Fold the seeded numbers of all ranks; return the result."""
    parts = [ctx.values(dtype, count, rank, step) for rank in range(comm.size)]
    recv = ctx.data(dtype, count, comm.size, step)
    comm.allreduce(parts[comm.rank], recv, op)
    expect_bytes(recv, fold(parts, op), f"allreduce {op} of {count} {np.dtype(dtype)}")
    return recv


def exchange_broadcast(
    comm: Member, ctx: Context, dtype: Any, count: int, root: int, step: int = 0
) -> NDArray[Any]:
    """Broadcast root's seeded data over the data of all others; return what arrived."""
    buf = ctx.data(dtype, count, comm.rank, step)
    comm.broadcast(buf, root)
    what = f"broadcast of {count} {np.dtype(dtype)} from rank {root}"
    expect_bytes(buf, ctx.data(dtype, count, root, step), what)
    return buf


def gathered(
    ctx: Context, dtype: Any, counts: Sequence[int], displs: Sequence[int], step: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A receive buffer full of other data, and what it must hold after the gather; two elements spare."""
    width = np.dtype(dtype).itemsize
    length = 2 + max(start + count for start, count in zip(displs, counts, strict=True))
    recv, expected = (ctx.data(dtype, length, len(counts), step) for _ in range(2))
    memory = as_bytes(expected)
    for rank, (start, count) in enumerate(zip(displs, counts, strict=True)):
        memory[start * width : (start + count) * width] = as_bytes(ctx.data(dtype, count, rank, step))
    return recv, expected


def packed(counts: Sequence[int]) -> list[int]:
    """Displacements that put the contributions one after the other."""
    return [sum(counts[:rank]) for rank in range(len(counts))]
