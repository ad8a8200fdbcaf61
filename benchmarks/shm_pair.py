"""Ours and MPI in one job, alternating sample by sample; `shm_peers.py` starts it under each MPI.

Each sample is the maximum over ranks of K calls after a barrier. Before each pair a burst of our barriers tells how far
apart the cores are at that moment: virtual machines move them about. Prints one JSON line per operation.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

import cobre.comm as cc

NEAR_US = 0.22
"""A barrier of two ranks below this means that the cores share a cache."""

world = MPI.COMM_WORLD
R, N = world.rank, world.size
ours = cc.ShmCommunicator.attach(cc.ShmConfig(name=world.bcast(f"/cobre_pair_{os.getpid()}"), rank=R, size=N))

# name, bytes of the result, calls per sample, samples
OPERATIONS = [
    ("barrier", 0, 50, 800),
    ("allreduce 32 B", 32, 50, 600),
    ("allreduce 64 KiB", 65_536, 10, 300),
    ("allreduce 8 MiB", 8 << 20, 1, 120),
    ("allgatherv 8 B per rank", 8 * N, 50, 600),
    ("allgatherv 3.2 MB", 3_200_000, 1, 250),
    ("allgatherv 32 MB", 32_000_000, 1, 50),
    ("allgatherv 206 MB", 206_000_000, 1, 14),
    ("broadcast 10 KB", 10_000, 20, 400),
    ("broadcast 20 MB", 20_000_000, 1, 60),
]

Call = Callable[[], object]


def pair(name: str, nbytes: int, *, in_region: bool) -> tuple[Call, Call, object]:
    """Our call, theirs, and what must stay alive."""
    if name == "barrier":
        return ours.barrier, world.Barrier, None
    if name.startswith("broadcast"):
        buf = np.full(nbytes // 8, 7.0)
        return partial(ours.broadcast, buf, 0), partial(world.Bcast, buf, 0), None
    if name.startswith("allreduce"):
        send, recv = np.full(nbytes // 8, R + 1.0), np.zeros(nbytes // 8)
        return (
            partial(ours.allreduce, send, recv, cc.ReduceOp.SUM),
            partial(world.Allreduce, send, recv),
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
    return mine, partial(world.Allgatherv, send, [recv, counts]), region


def sample(call: Call, times: int) -> float:
    """Seconds per call on this rank, all ranks starting together."""
    world.Barrier()
    ours.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def slowest_rank(samples: list[float]) -> np.ndarray:
    """Microseconds of each sample on the rank that took longest."""
    everybody = np.empty((N, len(samples)))
    world.Allgather(np.array(samples), everybody)
    return everybody.max(0) * 1e6


def cell(ours_us: np.ndarray, peer_us: np.ndarray) -> dict[str, float] | None:
    """Medians and tenth percentiles; nothing from fewer than three samples."""
    if len(ours_us) < 3:
        return None
    return {
        "samples": len(ours_us),
        "ours_us": round(float(np.median(ours_us)), 3),
        "peer_us": round(float(np.median(peer_us)), 3),
        "ours_p10_us": round(float(np.percentile(ours_us, 10)), 3),
        "peer_p10_us": round(float(np.percentile(peer_us, 10)), 3),
    }


def measure(name: str, nbytes: int, times: int, samples: int, *, in_region: bool) -> None:
    """Alternate, then print one line."""
    mine, theirs, keep = pair(name, nbytes, in_region=in_region)
    for _ in range(3):
        sample(mine, times)
        sample(theirs, times)
    hops, ours_s, peer_s = [], [], []
    for i in range(samples):
        hops.append(sample(ours.barrier, 100))
        for call, into in ((mine, ours_s), (theirs, peer_s))[:: 1 if i & 1 else -1]:
            into.append(sample(call, times))
    hop, us, them = slowest_rank(hops), slowest_rank(ours_s), slowest_rank(peer_s)
    near = hop < NEAR_US
    if R == 0:
        where = {
            "all": cell(us, them),
            "near": cell(us[near], them[near]),
            "far": cell(us[~near], them[~near]),
        }
        print(
            json.dumps({"operation": name + (" in a region" if in_region else ""), "ranks": N, **where}),
            flush=True,
        )
    if keep is not None:
        keep.close()


def main() -> None:
    """Measure every operation that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of samples")
    parser.add_argument("--only", default="", help="names, comma-separated; parts of them will do")
    options = parser.parse_args()
    wanted = [word for word in options.only.split(",") if word]
    for name, nbytes, times, samples in OPERATIONS:
        if wanted and not any(word in name for word in wanted):
            continue
        samples = max(6, int(samples * options.scale / (1 if N == 2 else 4)))
        measure(name, nbytes, times, samples, in_region=False)
        if name.startswith("allgatherv") and nbytes > 1_000_000:
            measure(name, nbytes, times, samples, in_region=True)
    ours.close()


main()
