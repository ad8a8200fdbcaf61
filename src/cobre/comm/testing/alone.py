"""Checks of a communicator of one rank, whatever its backend."""

from __future__ import annotations

import numpy as np

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.expectations import expect, expect_bytes


@check(max_size=1)
def alone_gather_and_reduce_copy(comm: Member, ctx: Context) -> None:
    """With one rank, allgatherv and allreduce copy send to recv."""
    send = ctx.data("f8", 9, 0)
    recv = np.zeros(12)
    comm.allgatherv(send, recv, [9], [2])
    expect_bytes(recv[2:11], send, "allgatherv of one rank")
    for op in ("sum", "min", "max"):
        total = np.zeros(9)
        comm.allreduce(send, total, op)
        expect_bytes(total, send, f"allreduce {op} of one rank")
        expect(not np.shares_memory(send, total), "recv became send")


@check(max_size=1)
def alone_broadcast_and_barrier_do_nothing(comm: Member, ctx: Context) -> None:
    """With one rank, broadcast leaves its buffer as it is and barrier returns."""
    for frozen in (False, True):
        buf = ctx.data("f8", 9, 0)
        buf.flags.writeable = not frozen
        comm.broadcast(buf, 0)
        expect_bytes(buf, ctx.data("f8", 9, 0), "broadcast of one rank")
    comm.barrier()
