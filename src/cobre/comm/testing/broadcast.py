"""Checks of broadcast."""

from __future__ import annotations

import array
from typing import Any

import numpy as np

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import exchange_broadcast
from cobre.comm.testing.expectations import expect_bytes
from cobre.comm.testing.gather import unaligned
from cobre.comm.testing.samples import MOVABLE_DTYPES


@check()
def broadcast_reaches_all_from_every_root(comm: Member, ctx: Context) -> None:
    """Every rank gets the bytes of whichever rank is root."""
    for root in range(comm.size):
        exchange_broadcast(comm, ctx, "f8", 17, root, step=root)
        exchange_broadcast(comm, ctx, "u1", 70_001, root, step=root)


@check()
def broadcast_carries_every_dtype(comm: Member, ctx: Context) -> None:
    """broadcast delivers the exact bytes of every dtype, structured ones included."""
    for step, dtype in enumerate(MOVABLE_DTYPES):
        exchange_broadcast(comm, ctx, dtype, 11, step % comm.size, step)


@check()
def broadcast_takes_every_length(comm: Member, ctx: Context) -> None:
    """broadcast works for any length, 0 included."""
    for step, length in enumerate(ctx.lengths(1, comm.size)):
        exchange_broadcast(comm, ctx, "u1", length, step % comm.size, step)


@check()
def broadcast_takes_any_buffer(comm: Member, ctx: Context) -> None:
    """Any contiguous buffer will do, aligned or not, of any shape; root's may be read-only."""
    root: Any = np.int64(comm.size - 1)
    mine, expected = ctx.data("f8", 6, comm.rank), ctx.data("f8", 6, root)
    frozen = mine.copy()
    frozen.flags.writeable = comm.rank != root
    memory = mine.tobytes() if comm.rank == root else bytearray(mine.tobytes())
    buffers: list[Any] = [
        array.array("d", mine.tobytes()),
        mine.copy().data,
        mine.reshape(3, 2).copy(),
        np.array(mine[0]),
        frozen,
        unaligned(mine),
        memory,
    ]
    for buf in buffers:
        comm.broadcast(buf, root)
        part = expected[:1] if isinstance(buf, np.ndarray) and buf.ndim == 0 else expected
        expect_bytes(buf, part, f"broadcast of a {type(buf).__name__}")
