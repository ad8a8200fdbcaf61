"""Checks of the properties of a communicator."""

from __future__ import annotations

import numpy as np

from cobre.comm.protocol import Communicator, SharedMemoryProvider
from cobre.comm.testing.checks import Context, Member, check
from cobre.comm.testing.exchanges import exchange_broadcast, exchange_gather, exchange_reduce
from cobre.comm.testing.expectations import expect

OPERATIONS = ("allgatherv", "allreduce", "broadcast", "barrier")


@check()
def protocols_are_implemented(comm: Member, ctx: Context) -> None:
    """A communicator has every method and property of both protocols."""
    for protocol in (Communicator, SharedMemoryProvider):
        lacks = f"{type(comm).__name__} lacks a part of {protocol.__name__}"
        expect(isinstance(comm, protocol), lacks)
    expect(isinstance(comm.backend, str) and comm.backend, f"backend is {comm.backend!r}, not a name")
    expect(isinstance(comm.is_leader, bool), f"is_leader is {comm.is_leader!r}, not a bool")


@check()
def ranks_are_numbered_once_each(comm: Member, ctx: Context) -> None:
    """Ranks are 0..size-1, each exactly once, and all agree on the size."""
    rank, size = comm.rank, comm.size
    expect(size >= 1 and 0 <= rank < size, f"rank {rank} of {size}")
    seen = np.full((size, 2), -1, np.int64)
    comm.allgatherv(np.array([rank, size]), seen, [2] * size, range(0, 2 * size, 2))
    expect(seen[:, 0].tolist() == list(range(size)), f"the ranks call themselves {seen[:, 0].tolist()}")
    expect(set(seen[:, 1].tolist()) == {size}, f"the ranks see sizes {seen[:, 1].tolist()}")


@check()
def stats_count_calls_and_bytes(comm: Member, ctx: Context) -> None:
    """stats() counts every call, and bytes in proportion to the payload."""
    start = _counts(comm)
    _call_each_once(comm, ctx, 10)
    middle = _counts(comm)
    _call_each_once(comm, ctx, 30)
    end = _counts(comm)
    for op in OPERATIONS:
        missing = {"calls", "bytes", "wait_s", "move_s"} - set(comm.stats().get(op, {}))
        expect(not missing, f"stats()[{op!r}] lacks {sorted(missing)}")
        calls, moved = zip(start[op], middle[op], end[op], strict=True)
        expect(np.diff(calls).tolist() == [1, 1], f"one {op} after the other, calls {calls}")
        less, more = np.diff(moved).tolist()
        expect((less > 0) == (op != "barrier"), f"{less} bytes counted in {op}")
        expect(more == 3 * less, f"{op} counts {less} bytes, and {more} for three times the payload")


def _call_each_once(comm: Member, ctx: Context, count: int) -> None:
    exchange_gather(comm, ctx, "f8", [count] * comm.size)
    exchange_reduce(comm, ctx, "f8", count, "sum")
    exchange_broadcast(comm, ctx, "f8", count, comm.size - 1)
    comm.barrier()


def _counts(comm: Member) -> dict[str, tuple[float, float]]:
    stats = comm.stats()
    seen = {op: stats.get(op, {}) for op in OPERATIONS}
    return {op: (each.get("calls", 0), each.get("bytes", 0)) for op, each in seen.items()}
