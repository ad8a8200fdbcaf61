"""Ours, MPI and the machine's floor in one job, alternating sample by sample; `shm_peers.py` starts it under each MPI.

Each sample is the maximum over ranks of K calls after a barrier. The floor is `shm_floor.cpp`: the same movement of
flags and bytes in bare C++, without Python, checks or failures. Before each round a burst of bare hops tells how far
apart the cores are at that moment: virtual machines move them about. Prints one JSON line per operation.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

import cobre.comm as cc

NEAR_HOP_US = 0.12
"""A cache line that reaches the other core in less than this was never out of their common cache."""

MIB = 1 << 20
FLOOR_EVERY = 4
FLOOR_WARM_UP = 5
AROUND_CACHE = 16_000_000
"""From here a copy that goes around the caches is faster."""

world = MPI.COMM_WORLD
R, N = world.rank, world.size
ours = cc.ShmCommunicator.attach(cc.ShmConfig(name=world.bcast(f"/cobre_pair_{os.getpid()}"), rank=R, size=N))

# name, bytes of the result, calls per sample, samples
OPERATIONS = [
    ("barrier", 0, 50, 800),
    ("allreduce 32 B", 32, 50, 600),
    ("allreduce 64 KiB", 65_536, 10, 300),
    ("allreduce 8 MiB", 8 * MIB, 1, 120),
    ("allgatherv 8 B per rank", 8 * N, 50, 600),
    ("allgatherv 3.2 MB", 3_200_000, 1, 250),
    ("allgatherv 32 MB", 32_000_000, 1, 50),
    ("allgatherv 206 MB", 206_000_000, 1, 14),
    ("broadcast 10 KB", 10_000, 20, 400),
    ("broadcast 20 MB", 20_000_000, 1, 60),
]

Call = Callable[[], object]


class Floor:
    """The functions of `shm_floor.cpp` on memory that all ranks share."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.floor_bytes.restype = ctypes.c_size_t
        count = self._library.floor_bytes(N) // 8
        self.region = ours.create_shared_region(count)
        memory = self.region.as_mut_block(0, count)
        self._where = (_address(memory), R, N, ctypes.c_bool(len(os.sched_getaffinity(0)) < N))

    def meet(self, rounds: int) -> None:
        """Everybody says that it is here and sees that all others are."""
        self._library.floor_meet(*self._where, ctypes.c_long(rounds))

    def copy(self, target: np.ndarray, source: np.ndarray, *, around: bool) -> None:
        """One copy from private to private memory."""
        self._library.floor_copy(
            *self._where, *_addresses(target, source), ctypes.c_size_t(target.nbytes), around
        )

    def allreduce(self, send: np.ndarray, recv: np.ndarray, rounds: int, *, around: bool) -> None:
        """Everybody's input through the rings, and the sum of all."""
        self._library.floor_allreduce(
            *self._where, *_addresses(send, recv), ctypes.c_size_t(send.nbytes), around, ctypes.c_long(rounds)
        )

    def broadcast(self, buf: np.ndarray, rounds: int, *, around: bool) -> None:
        """Rank 0's bytes through its ring."""
        self._library.floor_broadcast(
            *self._where, _address(buf), ctypes.c_size_t(buf.nbytes), around, ctypes.c_long(rounds)
        )


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _addresses(*arrays: np.ndarray) -> tuple[ctypes.c_void_p, ...]:
    return tuple(map(_address, arrays))


def contenders(
    floor: Floor, name: str, nbytes: int, times: int, *, in_region: bool
) -> tuple[Call, Call, list[Call], object]:
    """`times` calls of ours, of theirs, of the floor in each of its ways, and what must stay alive."""
    meet = partial(floor.meet, times)
    if name == "barrier":
        return _repeat(ours.barrier, times), _repeat(world.Barrier, times), [meet], None
    if name.startswith("broadcast"):
        buf = np.full(nbytes // 8, 7.0)
        private = np.full(nbytes // 8, 7.0)
        through_ring = [partial(floor.broadcast, buf, times, around=around) for around in (False, True)]
        copy = partial(floor.copy, buf, private, around=True)
        return (
            _repeat(partial(ours.broadcast, buf, 0), times),
            _repeat(partial(world.Bcast, buf, 0), times),
            through_ring if nbytes < MIB else [copy if R != 0 else (lambda: None)],
            private,
        )
    if name.startswith("allreduce"):
        send, recv = np.full(nbytes // 8, R + 1.0), np.zeros(nbytes // 8)
        mine = partial(ours.allreduce, send, recv, cc.ReduceOp.SUM)
        mine()
        assert (recv == N * (N + 1) / 2).all()
        recv[:] = 0
        floor.allreduce(send, recv, 1, around=True)
        assert (recv == N * (N + 1) / 2).all()
        through_ring = [
            partial(floor.allreduce, send, recv, times, around=around) for around in (False, True)
        ]
        copies = [partial(floor.copy, recv, send, around=around) for around in (False, True)]
        return (
            _repeat(mine, times),
            _repeat(partial(world.Allreduce, send, recv), times),
            [meet] if nbytes < 4096 else through_ring if nbytes < MIB else copies,
            None,
        )
    count = max(1, nbytes // 8 // N)
    send, recv = np.full(count, R + 1.0), np.zeros(count * N)
    counts, displs = [count] * N, [count * r for r in range(N)]
    region = ours.create_shared_region(count * N) if in_region else None
    target = region.as_mut_block(0, count * N) if region else recv
    mine = partial(ours.allgatherv, send, target, counts, displs)
    mine()
    assert all((target[d : d + count] == r + 1).all() for r, d in enumerate(displs))
    parts = [target[d : d + count] for d in displs]

    def bare() -> None:  # as many bytes into the same result, from where this rank has its own part
        for part in [parts[R]] if in_region else parts:
            floor.copy(part, send, around=nbytes >= AROUND_CACHE)

    return (
        _repeat(mine, times),
        _repeat(partial(world.Allgatherv, send, [recv, counts]), times),
        [meet] if nbytes < 4096 else [bare],
        region,
    )


def _repeat(call: Call, times: int) -> Call:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def sample(floor: Floor, call: Call, times: int) -> float:
    """Seconds per call on this rank, all ranks starting together."""
    world.Barrier()
    floor.meet(1)
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) / times


def slowest_rank(samples: list[float]) -> np.ndarray:
    """Microseconds of each sample on the rank that took longest."""
    everybody = np.empty((N, len(samples)))
    world.Allgather(np.array(samples), everybody)
    return everybody.max(0) * 1e6


def cell(*series: np.ndarray) -> dict[str, float] | None:
    """Medians and tenth percentiles; nothing from fewer than three samples."""
    if len(series[0]) < 3:
        return None
    figures: dict[str, float] = {"samples": len(series[0])}
    for name, values in zip(("ours", "peer", "floor"), series, strict=True):
        if len(values) == 0:
            continue
        figures[f"{name}_us"] = round(float(np.median(values)), 3)
        figures[f"{name}_p10_us"] = round(float(np.percentile(values, 10)), 3)
    figures["ratio"] = round(float(np.median(series[0]) / np.median(series[1])), 4)
    return figures


def _where(series: list[np.ndarray], chosen: np.ndarray) -> list[np.ndarray]:
    return [series[0][chosen], series[1][chosen], series[2][chosen[::FLOOR_EVERY]]]


def measure(floor: Floor, name: str, nbytes: int, times: int, samples: int, *, in_region: bool) -> None:
    """Alternate, then print one line."""
    mine, theirs, bare, keep = contenders(floor, name, nbytes, times, in_region=in_region)
    calls = [mine, theirs, *bare]
    for _ in range(5):
        for call in calls:
            sample(floor, call, times)
    hops: list[float] = []
    seconds: list[list[float]] = [[] for _ in calls]
    for i in range(samples):
        hops.append(sample(floor, partial(floor.meet, 100), 100))
        for which in (0, 1) if i & 1 else (1, 0):
            seconds[which].append(sample(floor, calls[which], times))
        if i % FLOOR_EVERY == 0:  # it has buffers of its own, which drive the others' out of the caches
            for way, call in enumerate(bare):
                if nbytes < MIB:  # its rings back in the caches: that is how fast it can be
                    _repeat(call, FLOOR_WARM_UP)()
                seconds[2 + way].append(sample(floor, call, times))
            sample(floor, mine, times)
            sample(floor, theirs, times)
    hop = slowest_rank(hops)
    series = [slowest_rank(values) for values in seconds]
    series[2:] = [np.min(series[2:], axis=0)]
    near = hop < NEAR_HOP_US
    if R == 0:
        where = {
            "all": cell(*series),
            "near": cell(*_where(series, near)),
            "far": cell(*_where(series, ~near)),
        }
        line = {"operation": name + (" in a region" if in_region else ""), "ranks": N, "hop_us": 0.0, **where}
        line["hop_us"] = round(float(np.median(hop)), 4)
        print(json.dumps(line), flush=True)
    if keep is not None and in_region:
        keep.close()  # type: ignore[attr-defined]


def main() -> None:
    """Measure every operation that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("floor", help="shm_floor.cpp as a library")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of samples")
    parser.add_argument("--only", default="", help="names, comma-separated; parts of them will do")
    options = parser.parse_args()
    floor = Floor(options.floor)
    wanted = [word for word in options.only.split(",") if word]
    for name, nbytes, times, samples in OPERATIONS:
        if wanted and not any(word in name for word in wanted):
            continue
        samples = max(9, int(samples * options.scale / (1 if N == 2 else 4)))
        measure(floor, name, nbytes, times, samples, in_region=False)
        if name.startswith("allgatherv") and nbytes > MIB:
            measure(floor, name, nbytes, times, samples, in_region=True)
    ours.close()


main()
