"""The program of each rank: ``python -m cobre.comm.bench.member PLAN``. Rank 0 prints a line per measurement."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from cobre.comm.bench.ceiling import limits_gb_per_s
from cobre.comm.bench.peers import PEERS
from cobre.comm.bench.plan import MARK, SMALLEST_FOR_BANDWIDTH, Collectives, Row
from cobre.comm.partition import block_layout
from cobre.comm.selection import create_communicator

__all__ = ["main"]

ITEM = 8
FEWEST, MOST = 10, 5000
WARM_UP = 3
PERIOD = 251  # a prime: a part that lands in the wrong place does not look right by chance

Call = Callable[[], None]


def main() -> int:
    """Measure everything in the plan with whatever communicator this rank has."""
    plan = json.loads(sys.argv[1])
    comm: Collectives = PEERS[plan["peer"]].open() if plan["peer"] else create_communicator()
    try:
        large = [size for size in plan["sizes"] if size >= SMALLEST_FOR_BANDWIDTH]
        limits = limits_gb_per_s(plan["limit"], large) if comm.rank == 0 else {}
        comm.barrier()
        for operation in plan["operations"]:
            for size in [0] if operation == "barrier" else plan["sizes"]:
                call, verify = _prepare(comm, operation, size)
                call()
                verify()
                times = _time(comm, call, plan["seconds"])
                verify()
                if comm.rank == 0:
                    _print(_row(comm.backend, operation, size, times, plan["limit"], limits))
    finally:
        comm.close()
    return 0


def _prepare(comm: Collectives, operation: str, size: int) -> tuple[Call, Call]:
    """A call that can be repeated, and a check of what it delivers, on every byte."""
    count = max(1, size // ITEM)
    if operation == "barrier":
        return comm.barrier, lambda: None
    if operation == "broadcast":
        buf = _pattern(0, count) if comm.rank == 0 else np.zeros(count)
        return lambda: comm.broadcast(buf, 0), lambda: _compare(buf, _pattern(0, count), operation)
    if operation == "allreduce":
        send, recv = _pattern(comm.rank, count), np.zeros(count)
        total = sum(_pattern(rank, count) for rank in range(comm.size))
        return lambda: comm.allreduce(send, recv, "sum"), lambda: _compare(recv, total, operation)
    count = max(count // comm.size, 1) * comm.size  # equal parts, which is what peers can do
    counts, displs = block_layout(count, comm.size)
    mine, everything = _pattern(comm.rank, counts[0]), np.zeros(count)
    wanted = np.concatenate([_pattern(rank, counts[0]) for rank in range(comm.size)])
    return (
        lambda: comm.allgatherv(mine, everything, counts, displs),
        lambda: _compare(everything, wanted, operation),
    )


def _pattern(rank: int, count: int) -> Any:
    return (np.arange(count, dtype=np.float64) + 31 * rank) % PERIOD


def _compare(got: Any, wanted: Any, operation: str) -> None:
    if not np.array_equal(got, wanted):
        where = int(np.flatnonzero(got != wanted)[0])
        raise AssertionError(
            f"{operation} delivered {got[where]} instead of {wanted[where]} at element {where}"
        )


def _time(comm: Collectives, call: Call, seconds: float) -> Any:
    """Microseconds of each call, as the slowest rank saw it."""
    start = time.perf_counter()
    for _ in range(WARM_UP):
        call()
    pace = np.array([(time.perf_counter() - start) / WARM_UP])
    comm.broadcast(pace, 0)
    number = int(min(max(seconds / max(pace[0], 1e-9), FEWEST), MOST))
    times, clock = np.empty(number), time.perf_counter
    comm.barrier()
    for index in range(number):
        begin = clock()
        call()
        times[index] = clock() - begin
    all_times = np.empty(number * comm.size)
    comm.allgatherv(times, all_times, [number] * comm.size, list(range(0, number * comm.size, number)))
    return all_times.reshape(comm.size, number).max(axis=0) * 1e6


def _row(backend: str, operation: str, size: int, times: Any, limit: str, limits: dict[int, float]) -> Row:
    p50, p99 = (float(np.percentile(times, q)) for q in (50, 99))
    if size == 0:
        return Row(backend, operation, size, len(times), p50, p99, None, None, "")
    return Row(backend, operation, size, len(times), p50, p99, size / p50 / 1e3, limits.get(size), limit)


def _print(row: Row) -> None:
    os.write(1, MARK + json.dumps(asdict(row)).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
