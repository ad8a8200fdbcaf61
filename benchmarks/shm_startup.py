"""From the launch to the first barrier, and what a rank takes up: both beyond an interpreter that has NumPy.

``python benchmarks/shm_startup.py`` starts groups of 2 and 4 ranks by ``cobre launch`` and by hand, several times in
turn with bare interpreters, as many at once, that only import NumPy. One clock of the whole machine times them all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import publish

ROUNDS = 9
SIZES = (2, 4)

BARE = """
import sys, time
import numpy
open(sys.argv[1], "w").write(str(time.monotonic()))
"""

RANK = """
import json, os, sys, time
import numpy

def memory():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) for line in lines[1:] if line.startswith(("Rss", "Pss:"))}

before = memory()
import cobre.comm
comm = cobre.comm.create_communicator()
comm.barrier()
arrived = time.monotonic()
total = numpy.empty(4)
comm.allreduce(numpy.ones(4), total, "sum")
started = memory()
send, recv = numpy.ones(1 << 20), numpy.ones(1 << 20)  # both touched: only ours is counted below
touched = memory()
comm.allreduce(send, recv, "sum")
busy = memory()
told = {
    "arrived": arrived,
    "rss": started["Rss"] - before["Rss"],
    "pss": started["Pss"] - before["Pss"],
    "busy_pss": busy["Pss"] - touched["Pss"] + started["Pss"] - before["Pss"],
}
open(f"{sys.argv[1]}.{comm.rank}", "w").write(json.dumps(told))
comm.barrier()
"""


def main() -> None:
    """Print and store the medians."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "rank.py")
        program.write_text(RANK)
        for size in SIZES:
            bare, launched, by_hand, told = [], [], [], []
            for _ in range(ROUNDS):
                bare.append(_bare(size, folder))
                launched.append(_ranks(size, program, folder, told, is_launched=True))
                by_hand.append(_ranks(size, program, folder, told, is_launched=False))
            base = statistics.median(bare)
            prefix = f"{size} ranks"
            figures[f"{prefix}: interpreters with NumPy, ms"] = base * 1e3
            figures[f"{prefix}: cobre launch to first barrier, above that, ms (goal 150)"] = (
                statistics.median(launched) - base
            ) * 1e3
            figures[f"{prefix}: started by hand to first barrier, above that, ms"] = (
                statistics.median(by_hand) - base
            ) * 1e3
            for key, label in (
                ("pss", "memory per rank above NumPy, shared pages divided, MB (goal 5)"),
                ("rss", "the same, shared pages counted on every rank, MB"),
                ("busy_pss", "after an allreduce of 8 MiB, shared pages divided, MB"),
            ):
                figures[f"{prefix}: {label}"] = max(one[key] for one in told[-size:]) * 1024 / 1e6
    publish("shm_startup", "as named", figures)


def _bare(size: int, folder: str) -> float:
    paths = [Path(folder, f"bare.{number}") for number in range(size)]
    begin = time.monotonic()
    running = [subprocess.Popen([sys.executable, "-c", BARE, str(path)]) for path in paths]
    for process in running:
        process.wait(60)
    return max(float(path.read_text()) for path in paths) - begin


def _ranks(
    size: int, program: Path, folder: str, told: list[dict[str, float]], *, is_launched: bool
) -> float:
    report = Path(folder, "report")
    cobre = str(Path(sys.executable).with_name("cobre"))
    begin = time.monotonic()
    if is_launched:
        subprocess.run(
            [cobre, "launch", "-n", str(size), str(program), str(report)],
            check=True,
            timeout=60,
            stdout=subprocess.DEVNULL,
        )
    else:
        common = {"COBRE_COMM_BACKEND": "shm", "COBRE_SHM_NAME": f"/cobre_comm_startup_{os.getpid()}"}
        running = [
            subprocess.Popen(
                [sys.executable, str(program), str(report)],
                env={**os.environ, **common, "COBRE_SHM_RANK": str(rank), "COBRE_SHM_SIZE": str(size)},
            )
            for rank in range(size)
        ]
        for process in running:
            if process.wait(60) != 0:
                sys.exit("a rank failed")
    these = [json.loads(Path(f"{report}.{rank}").read_text()) for rank in range(size)]
    told += these
    return max(one["arrived"] for one in these) - begin


if __name__ == "__main__":
    main()
