"""What the mpi backend adds to plain mpi4py, and what folding in rank order costs: both in the same ranks, in turns.

Run it with an interpreter that has mpi4py and a library, e.g. ``build/mpi/openmpi/bin/python benchmarks/mpi_overhead.py``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from record import publish

from cobre.comm import MpiCommunicator, block_layout
from cobre.comm.launch import first_failure, run_ranks

INSIDE = "COBRE_BENCH_INSIDE"
SMALL, LARGE = (1, 2), (2,)
LATENCY_ROUNDS, LATENCY_CALLS = 60, 200


def main() -> None:
    """Start the ranks that measure, collect what rank 0 of each found, and store it."""
    if os.environ.get(INSIDE):
        measure()
        return
    figures: dict[str, float] = {}
    library = ""
    for size in SMALL:
        results = run_ranks("mpi", size, [__file__], env={INSIDE: "1"}, timeout=900, echo=False)
        if (failure := first_failure(results)) is not None:
            sys.exit(failure.output)
        found = json.loads(results[0].output.splitlines()[-1])
        library = found["library"]
        figures |= {
            f"{name}, {size} rank{'s' * (size > 1)}": value for name, value in found["figures"].items()
        }
    publish(f"mpi_overhead_{library}", "µs per call; ratios as such", figures)


def measure() -> None:
    """In a rank: alternate plain mpi4py and Cobre, and let rank 0 print the figures."""
    comm = MpiCommunicator()
    from mpi4py import MPI

    plain = MPI.COMM_WORLD.Dup()
    figures: dict[str, float] = {}
    for name, one, other in latencies(comm, plain, MPI):
        added = [sample(other, plain) - sample(one, plain) for _ in range(LATENCY_ROUNDS)]
        base = min(sample(one, plain) for _ in range(LATENCY_ROUNDS // 3))
        figures[f"{name}: plain"] = base
        figures[f"{name}: added by Cobre"] = statistics.median(added)
    if comm.size in LARGE:
        for n_bytes, label, rounds in ((3_200_000, "3.2 MB", 60), (206_000_000, "206 MB", 8)):
            figures |= compare(f"allgatherv {label}", *gathers(comm, plain, MPI, n_bytes), plain, rounds)
        for count, label, rounds in ((4, "32 B", 2000), (8192, "64 KiB", 300), (1 << 20, "8 MiB", 30)):
            figures |= compare(f"allreduce {label}", *reductions(comm, plain, MPI, count), plain, rounds)
    if comm.rank == 0:
        library = MPI.get_vendor()[0].lower().replace(" ", "")
        print(json.dumps({"library": library, "figures": figures}), flush=True)
    comm.close()


def latencies(comm: MpiCommunicator, plain: Any, mpi: Any) -> list[tuple[str, Callable, Callable]]:
    """Small calls, spelled the fastest way that plain mpi4py knows."""
    counts, displs = block_layout(4 * comm.size, comm.size)
    send, recv, ours = np.ones(4), np.empty(4 * comm.size), np.empty(4 * comm.size)
    spec = [recv, counts, displs, mpi.DOUBLE]
    return [
        ("barrier", plain.Barrier, comm.barrier),
        (
            "allgatherv 32 B a rank",
            lambda: plain.Allgatherv(send, spec),
            lambda: comm.allgatherv(send, ours, counts, displs),
        ),
        ("broadcast 32 B", lambda: plain.Bcast(send, 0), lambda: comm.broadcast(send, 0)),
    ]


def gathers(comm: MpiCommunicator, plain: Any, mpi: Any, n_bytes: int) -> tuple[Callable, Callable]:
    """The same gather of so many bytes in all, by either."""
    counts, displs = block_layout(n_bytes // 8, comm.size)
    send, recv = np.ones(counts[comm.rank]), np.empty(n_bytes // 8)
    return (
        lambda: plain.Allgatherv(send, [recv, counts, displs, mpi.DOUBLE]),
        lambda: comm.allgatherv(send, recv, counts, displs),
    )


def reductions(comm: MpiCommunicator, plain: Any, mpi: Any, count: int) -> tuple[Callable, Callable]:
    """A sum by MPI in whatever order, and ours in rank order."""
    send, recv = np.ones(count), np.empty(count)
    return lambda: plain.Allreduce(send, recv, mpi.SUM), lambda: comm.allreduce(send, recv, "sum")


def compare(name: str, one: Callable, other: Callable, plain: Any, rounds: int) -> dict[str, float]:
    """Medians of both and of the ratio of neighbours, one call each in turns."""
    samples = [(sample(one, plain, 1), sample(other, plain, 1)) for _ in range(rounds)]
    return {
        f"{name}: plain": statistics.median(first for first, _ in samples),
        f"{name}: Cobre": statistics.median(second for _, second in samples),
        f"{name}: best Cobre / best plain": min(b for _, b in samples) / min(a for a, _ in samples),
        f"{name}: median of the ratio": statistics.median(second / first for first, second in samples),
    }


def sample(call: Callable, plain: Any, calls: int = LATENCY_CALLS) -> float:
    """Microseconds per call, all ranks having started together."""
    plain.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls * 1e6


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
