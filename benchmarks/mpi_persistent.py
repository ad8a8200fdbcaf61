"""Whether MPI-4's persistent collectives are worth having: beside mpi4py's plain ones, in the same ranks, in turns.

A persistent request belongs to fixed buffers, so this is the best that it could do for a caller who never changes
them. ``make bench-mpi`` runs it with both libraries.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi_overhead import INSIDE, Subject, in_all_ranks, shown
from pairs import medians, ratio_in_percent
from record import publish

from cobre.comm.launch import first_failure, run_ranks


def main() -> None:
    """Start the ranks that measure, and store what they found."""
    if os.environ.get(INSIDE):
        measure()
        return
    figures: dict[str, float] = {}
    library = ""
    for size in (2, 4):
        results = run_ranks("mpi", size, [__file__], env={INSIDE: "1"}, timeout=300, echo=False)
        if (failure := first_failure(results)) is not None:
            sys.exit(failure.output)
        library, found = json.loads(results[0].output.splitlines()[-1])
        figures |= {f"{name}, {size} ranks": value for name, value in found.items()}
    publish(f"mpi_persistent_{library}", "µs per call, ratios in %, with limits of 95 % intervals", figures)


def measure() -> None:
    """In a rank."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    figures: dict[str, float] = {}
    for name, plain, request, calls, pairs in _subjects(comm, MPI):
        again = _start_and_wait(request)
        rows = in_all_ranks(Subject(name, plain, again, again, calls, pairs), plain, again, pairs, comm, MPI)
        one, other = medians(rows)
        figures |= {f"{name}: plain": one, f"{name}: persistent": other}
        figures |= shown(f"{name}: ratio, %", ratio_in_percent(rows))
        request.Free()
    if comm.rank == 0:
        print(json.dumps([MPI.get_vendor()[0].lower().replace(" ", ""), figures]), flush=True)


def _subjects(comm: Any, mpi: Any) -> Any:
    yield "barrier", comm.Barrier, comm.Barrier_init(), 50, 200
    for n_bytes, label, calls, pairs in (
        (32, "32 B", 50, 200),
        (65_536, "64 KiB", 10, 200),
        (3_200_000, "3.2 MB", 1, 200),
    ):
        count = max(n_bytes // 8 // comm.size, 1)
        send, recv = np.ones(count), np.empty(count * comm.size)
        to = (recv, [count] * comm.size, [count * rank for rank in range(comm.size)], mpi.DOUBLE)
        gather = comm.Allgatherv_init((send, count, mpi.DOUBLE), to)
        yield (
            f"allgatherv {label}",
            partial(comm.Allgatherv, (send, count, mpi.DOUBLE), to),
            gather,
            calls,
            pairs,
        )
        yield f"broadcast {label}", partial(comm.Bcast, recv, 0), comm.Bcast_init(recv, 0), calls, pairs


def _start_and_wait(request: Any) -> Callable[[], None]:
    start, wait = request.Start, request.Wait

    def call() -> None:
        start()
        wait()

    return call


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
