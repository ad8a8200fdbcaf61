"""What COBRE_COMM_TRACE costs: per call where nothing is moved, and in a run that computes between its collectives."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from record import publish

CALLS = """
import json, timeit
from cobre.comm import LocalCommunicator
comm = LocalCommunicator()
timeit.timeit(comm.barrier, number=50_000)
print(json.dumps(min(timeit.repeat(comm.barrier, number=20_000, repeat=7)) / 20_000 * 1e9))
"""
RUN = """
import json, time
import numpy as np
from cobre.comm import run

def work(comm):
    a, b, x = np.ones(1000), np.empty(1000), np.ones((120, 120))
    comm.barrier()
    start = time.perf_counter()
    for _ in range(2000):
        x = np.sqrt(x + 0.5)
        comm.allreduce(a, b, "sum")
    return time.perf_counter() - start

print(json.dumps(max(run(work, num_workers=2, backend="shm")) * 1e3))
"""
ROUNDS = 9


def main() -> None:
    """Median over rounds that alternate between on and off, so that drift hits both alike."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, code in (("local barrier, ns", CALLS), ("2000 steps on 2 ranks of shm, ms", RUN)):
            samples: dict[str, list[float]] = {"off": [], "on": []}
            for _ in range(ROUNDS):
                for state, trace in (("off", ""), ("on", str(Path(folder) / "trace"))):
                    samples[state].append(_output(code, trace))
            figures |= {
                f"{name}, trace {state}": statistics.median(values) for state, values in samples.items()
            }
    publish("trace_overhead", "see each line", figures)


def _output(code: str, trace: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "COBRE_COMM_TRACE": trace},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    main()
