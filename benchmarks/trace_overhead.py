"""What COBRE_COMM_TRACE costs, on and off.

On: two groups of ranks live at the same time, one with a trace and one without, and work in turns. Off: the same
loop in C++ with and without what a collective carries for the sake of traces. Beside each figure stand the limits
of its 95 % interval. The exit status is 1 if a run slows down by 2 % or more for certain.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from pairs import Estimate, Sample, difference, medians, ratio_in_percent, take_pairs
from record import publish

HERE = Path(__file__).parent
NATIVE = HERE.parent / "native"
RANKS, PAIRS, MOST_PERCENT = 2, 150, 102.0

# Whenever rank 0 reads a line all ranks work, and it says how many microseconds a step took the slowest.
PROGRAM = """
import sys, time
import numpy as np
from cobre.comm import create_communicator

STEPS = {steps}

with create_communicator() as comm:
    n = {n}
    matrix, send, recv = np.ones(({rows}, {rows})), np.ones(n), np.empty(n)
    order, took = np.empty(1), np.empty(1)
    while True:
        if comm.rank == 0:
            order[0] = bool(sys.stdin.readline())
        comm.broadcast(order, 0)
        if not order[0]:
            break
        comm.barrier()
        begin = time.perf_counter()
        for _ in range(STEPS):
            matrix @ matrix[0]
            comm.allreduce(send, recv, "sum")
        took[0] = (time.perf_counter() - begin) / STEPS * 1e6
        comm.allreduce(took, took, "max")
        if comm.rank == 0:
            print(took[0], flush=True)
"""

# What a step does: a matrix of so many rows times a vector, then an allreduce of so many numbers.
RUNS = {
    "a product of 300 rows and allreduce of 8 kB": {"rows": 300, "n": 1000, "steps": 400},
    "next to nothing and allreduce of 64 KiB": {"rows": 1, "n": 8192, "steps": 1000},
}
BARRIERS = """
import sys, timeit
from cobre.comm import LocalCommunicator
barrier = LocalCommunicator().barrier
for _ in sys.stdin:
    print(timeit.timeit(barrier, number=50_000) / 50_000 * 1e9, flush=True)
"""


def main() -> int:
    """Measure, store, and say whether the goal is kept."""
    figures: dict[str, float] = {}
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in RUNS.items():
            program = Path(folder) / "program.py"
            program.write_text(PROGRAM.format(**numbers), encoding="utf-8")
            launch = [sys.executable, "-m", "cobre", "launch", "-n", str(RANKS), "--no-prefix", str(program)]
            rows = _pairs(launch, folder, PAIRS)
            ratio = ratio_in_percent(rows)
            figures |= {f"{name}: off, µs": medians(rows)[0]} | _shown(f"{name}: on, % of off", ratio)
            missed += [name] * (ratio.low >= MOST_PERCENT)
        rows = _pairs([sys.executable, "-c", BARRIERS], folder, PAIRS)
        figures |= {"a local barrier: off, ns": medians(rows)[0]}
        figures |= _shown("a local barrier: added by a trace, ns", difference(rows))
        rows = _scope(Path(folder))
        figures |= _shown("any collective: added while off, ns", difference(rows))
    publish("trace_overhead", "with limits of 95 % intervals", figures)
    for name in missed:
        print(f"  goal missed: {name}")
    return int(bool(missed))


def _pairs(command: list[str], folder: str, number: int) -> np.ndarray:
    """Samples without and with a trace, in turns, from two that live at the same time."""
    with ExitStack() as stack:
        traces = ("", str(Path(folder) / "trace"))
        off, on = (stack.enter_context(_worker(command, trace)) for trace in traces)
        for _ in range(5):
            off(), on()
        return take_pairs(off, on, number)


@contextmanager
def _worker(command: list[str], trace: str) -> Iterator[Sample]:
    environ = {**os.environ, "COBRE_COMM_TRACE": trace, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield partial(_ask, process)
        process.stdin.close()
        if process.wait(60):
            sys.exit(f"a rank failed with {process.returncode}")


def _ask(process: subprocess.Popen) -> float:
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def _scope(folder: Path) -> np.ndarray:
    program = folder / "trace_scope"
    sources = [HERE / "trace_scope.cpp", NATIVE / "comm" / "trace.cpp", NATIVE / "comm" / "lifetime.cpp"]
    subprocess.run(["c++", "-O3", "-std=c++20", f"-I{NATIVE}", *sources, "-o", program], check=True)
    done = subprocess.run(
        [program], stdout=subprocess.PIPE, text=True, check=True, env={"PATH": os.defpath}, timeout=120
    )
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


def _shown(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.median, f"{name}, from": estimate.low, f"{name}, to": estimate.high}


if __name__ == "__main__":
    sys.exit(main())
