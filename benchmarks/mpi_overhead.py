"""What the mpi backend adds to plain mpi4py, and what folding in rank order costs: both in the same ranks, in turns.

``make bench-mpi`` runs it with both libraries; any interpreter with mpi4py and a library will do. Beside each figure
stand the limits of its 95 % interval. A control compares plain mpi4py with itself on another communicator: what that
shows is the machine's noise. The exit status is 1 if a goal is missed for certain, that is by the whole interval.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pairs import Estimate, difference, medians, ratio_in_percent, take_pairs
from record import publish

from cobre.comm import MpiCommunicator, block_layout
from cobre.comm.launch import first_failure, run_ranks

INSIDE = "COBRE_BENCH_INSIDE"
SIZES = (1, 2)
MOST_ADDED_US, MOST_PERCENT = 1.0, 101.0

Call = Callable[[], object]


class Subject(NamedTuple):
    """One operation: three ways to do it, and how often. ``again`` is ``plain`` on another communicator."""

    name: str
    plain: Call
    ours: Call
    again: Call
    calls: int
    pairs: int
    goal: str = ""


def main() -> int:
    """Start the ranks that measure, collect what rank 0 of each found, and store it."""
    if os.environ.get(INSIDE):
        measure()
        return 0
    figures: dict[str, float] = {}
    library, missed = "", []
    for size in SIZES:
        results = run_ranks("mpi", size, [__file__], env={INSIDE: "1"}, timeout=500, echo=False)
        if (failure := first_failure(results)) is not None:
            sys.exit(failure.output)
        found = json.loads(results[0].output.splitlines()[-1])
        library = found["library"]
        label = f"{size} rank{'s' * (size > 1)}"
        figures |= {f"{name}, {label}": value for name, value in found["figures"].items()}
        missed += [f"{name}, {label}" for name in found["missed"]]
    publish(f"mpi_overhead_{library}", "µs per call, ratios in %, with limits of 95 % intervals", figures)
    for name in missed:
        print(f"  goal missed: {name}")
    return int(bool(missed))


def measure() -> None:
    """In a rank: take the pairs of everything, and let rank 0 print the figures."""
    comm = MpiCommunicator()
    from mpi4py import MPI

    plain, again = MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()
    figures: dict[str, float] = {}
    missed: list[str] = []
    subjects = latencies(comm, plain, again, MPI)
    if comm.size > 1:
        subjects += [*gathers(comm, plain, again, MPI), *reductions(comm, plain, again, MPI)]
    for subject in subjects:
        rows = in_all_ranks(subject, subject.plain, subject.ours, subject.pairs, plain, MPI)
        control = in_all_ranks(subject, subject.plain, subject.again, subject.pairs // 2, plain, MPI)
        one, other = medians(rows)
        figures |= {f"{subject.name}: plain": one, f"{subject.name}: Cobre": other}
        if subject.goal == "µs":
            kind, found, noise, limit = "added", difference(rows), difference(control), MOST_ADDED_US
        else:
            kind, found, noise = "ratio, %", ratio_in_percent(rows), ratio_in_percent(control)
            limit = MOST_PERCENT if subject.goal else float("inf")
        figures |= shown(f"{subject.name}: {kind}", found) | shown(f"{subject.name}: control, {kind}", noise)
        missed += [f"{subject.name}: {kind}"] * (found.low > limit)
    if comm.rank == 0:
        library = MPI.get_vendor()[0].lower().replace(" ", "")
        print(json.dumps({"library": library, "figures": figures, "missed": missed}), flush=True)
    comm.close()


def latencies(comm: MpiCommunicator, plain: Any, again: Any, mpi: Any) -> list[Subject]:
    """Small calls, spelled the fastest way that plain mpi4py knows."""
    counts, displs = block_layout(4 * comm.size, comm.size)
    send, recv = np.ones(4), np.empty(4 * comm.size)
    spec = [recv, counts, displs, mpi.DOUBLE]
    return [
        Subject("barrier", plain.Barrier, comm.barrier, again.Barrier, 100, 600, "µs"),
        Subject(
            "allgatherv 32 B a rank",
            lambda: plain.Allgatherv(send, spec),
            lambda: comm.allgatherv(send, recv, counts, displs),
            lambda: again.Allgatherv(send, spec),
            100,
            600,
            "µs",
        ),
        Subject(
            "broadcast 32 B",
            lambda: plain.Bcast(send, 0),
            lambda: comm.broadcast(send, 0),
            lambda: again.Bcast(send, 0),
            100,
            600,
            "µs",
        ),
    ]


def gathers(comm: MpiCommunicator, plain: Any, again: Any, mpi: Any) -> list[Subject]:
    """Long gathers of so many bytes in all."""
    subjects = []
    for n_bytes, label, pairs in ((3_200_000, "3.2 MB", 1500), (206_000_000, "206 MB", 500)):
        counts, displs = block_layout(n_bytes // 8, comm.size)
        send, recv = np.ones(counts[comm.rank]), np.empty(n_bytes // 8)
        spec = [recv, counts, displs, mpi.DOUBLE]
        calls = (
            partial(plain.Allgatherv, send, spec),
            partial(comm.allgatherv, send, recv, counts, displs),
            partial(again.Allgatherv, send, spec),
        )
        subjects.append(Subject(f"allgatherv {label}", *calls, 1, pairs, "%"))
    return subjects


def reductions(comm: MpiCommunicator, plain: Any, again: Any, mpi: Any) -> list[Subject]:
    """Sums by MPI in whatever order, and ours in rank order: a price is stated, not a goal."""
    subjects = []
    for count, label, calls, pairs in (
        (4, "32 B", 50, 400),
        (8192, "64 KiB", 10, 300),
        (1 << 20, "8 MiB", 1, 300),
    ):
        send, recv = np.ones(count), np.empty(count)
        ways = (
            partial(plain.Allreduce, send, recv, mpi.SUM),
            partial(comm.allreduce, send, recv, "sum"),
            partial(again.Allreduce, send, recv, mpi.SUM),
        )
        subjects.append(Subject(f"allreduce {label}", *ways, calls, pairs))
    return subjects


def in_all_ranks(subject: Subject, one: Call, other: Call, pairs: int, plain: Any, mpi: Any) -> Any:
    """Pairs of samples in µs per call, each as the slowest rank saw it."""
    for _ in range(5):
        one()
        other()
    mine = take_pairs(
        partial(sample, one, plain, subject.calls), partial(sample, other, plain, subject.calls), pairs
    )
    slowest = np.empty_like(mine)
    plain.Allreduce(mine, slowest, mpi.MAX)
    return slowest


def sample(call: Call, plain: Any, calls: int) -> float:
    """Microseconds per call, all ranks having started together."""
    plain.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls * 1e6


def shown(name: str, estimate: Estimate) -> dict[str, float]:
    """The median and the limits of its interval."""
    return {name: estimate.median, f"{name}, from": estimate.low, f"{name}, to": estimate.high}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
