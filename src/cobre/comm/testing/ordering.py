"""Checks that results do not depend on the order in which ranks arrive."""

from __future__ import annotations

import itertools
import time

import numpy as np

from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import (
    exchange_broadcast,
    exchange_gather,
    exchange_reduce,
    gathered,
    packed,
)
from cobre.comm.testing.expectations import as_bytes, expect_bytes
from cobre.comm.testing.folding import fold

PAUSE_S = 0.001


def arrival_orders(size: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Places in the queue by rank: all permutations up to 4 ranks, then rotations and some random ones."""
    if size <= 4:
        return list(itertools.permutations(range(size)))
    rotations = [tuple((rank + shift) % size for rank in range(size)) for shift in range(size)]
    return rotations + [tuple(int(place) for place in rng.permutation(size)) for _ in range(4)]


@check(min_size=2)
def arrival_order_changes_nothing(comm: Member, ctx: Context) -> None:
    """Results are assembled in rank order, whatever order the ranks arrive in."""
    for step, places in enumerate(arrival_orders(comm.size, ctx.rng())):
        delay = PAUSE_S * places[comm.rank]
        time.sleep(delay)
        exchange_gather(comm, ctx, "f8", [1 + rank for rank in range(comm.size)], step=step)
        time.sleep(delay)
        exchange_reduce(comm, ctx, "f8", 37, "sum", step)
        time.sleep(delay)
        exchange_broadcast(comm, ctx, "f8", 37, step % comm.size, step)


@check(min_size=2)
def slow_ranks_lose_nothing(comm: Member, ctx: Context) -> None:
    """A rank that is late before or after a call gets the right data, though the others run ahead."""
    longest = ctx.lengths(8, comm.size)[-1]
    for slow in range(comm.size):
        delay = PAUSE_S if comm.rank == slow else 0.0
        for step, count in enumerate((1, 513, 9001) if slow else (1, longest)):
            for turn in range(6):
                time.sleep(delay)
                # The same root three times in a row: it need not wait for other ranks, and may run far ahead.
                _broadcast_and_scribble(comm, ctx, count, root=(slow + 1 + turn // 3) % comm.size, step=turn)
            time.sleep(delay)
            _gather_and_scribble(comm, ctx, count, step)
            time.sleep(delay)
            _reduce_and_scribble(comm, ctx, count, step)


def _broadcast_and_scribble(comm: Member, ctx: Context, count: int, root: int, step: int) -> None:
    buf = ctx.data("u8", count, comm.rank, step)
    comm.broadcast(buf, root)
    got = buf.copy()
    as_bytes(buf)[:] = 0xEE  # root may reuse its buffer as soon as the call returns
    expect_bytes(got, ctx.data("u8", count, root, step), f"broadcast {step} from rank {root} to a slow rank")


def _gather_and_scribble(comm: Member, ctx: Context, count: int, step: int) -> None:
    counts = [count] * comm.size
    send = ctx.data("u8", count, comm.rank, step)
    recv, expected = gathered(ctx, "u8", counts, packed(counts), step)
    comm.allgatherv(send, recv, counts, packed(counts))
    as_bytes(send)[:] = 0xEE
    expect_bytes(recv, expected, "allgatherv whose senders reuse their buffers")


def _reduce_and_scribble(comm: Member, ctx: Context, count: int, step: int) -> None:
    parts = [ctx.values("f8", count, rank, step) for rank in range(comm.size)]
    send, recv = parts[comm.rank].copy(), np.zeros(count)
    comm.allreduce(send, recv, "sum")
    as_bytes(send)[:] = 0xEE
    expect_bytes(recv, fold(parts, "sum"), "allreduce whose senders reuse their buffers")
