"""shm against mpi4py over Open MPI (spinning, yielding) and MPICH, in one job each, alternating sample by sample.

``python benchmarks/shm_peers.py [--ranks 2,4] [--scale 0.3] [--only allreduce]`` makes throw-away environments under
``build/peers`` from PyPI wheels, measures, prints one table per group size and stores ``results/shm_peers.json``.
The best MPI of an operation is the one that was fastest; the ratio is the one measured in that MPI's own job.
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

# What the machine itself needs, from shm_limits.cpp.
LIMITS = {
    "barrier": "hop",
    "allreduce 32 B": "hop",
    "allgatherv 8 B per rank": "hop",
    "broadcast 10 KB": "copy_10000",
    "allreduce 64 KiB": "swap_65536",
    "allreduce 8 MiB": "swap_8388608",
    "allgatherv 3.2 MB": "copy_3200000",
    "allgatherv 32 MB": "copy_32000000",
    "allgatherv 206 MB": "copy_206000000",
    "broadcast 20 MB": "copy_20000000",
}


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--scale", default="1.0")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    _install()
    limits = _limits()
    jobs = []
    for size in map(int, options.ranks.split(",")):
        rows = {
            job: _run(job, size, options.scale, options.only)
            for job in JOBS
            if size <= 2 or "spinning" not in job
        }
        jobs += [{"peer": job, **row} for job, measured in rows.items() for row in measured]
        _show(size, rows, limits)
    document = {
        "subject": "shm_peers",
        "unit": "us",
        "limits": limits,
        "jobs": jobs,
        "machine": machine(),
        "commit": commit(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path = RESULTS / "shm_peers.json"
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


def _limits() -> dict[str, float]:
    """Hop and copies on this machine; nothing where there is no compiler."""
    program = PEERS / "limits"
    try:
        _do("c++", "-O3", "-march=native", "-std=c++20", str(HERE / "shm_limits.cpp"), "-o", str(program))
        done = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"no limits measured: {error}")
        return {}
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _run(job: str, size: int, scale: str, only: str) -> list[dict[str, Any]]:
    peer, settings = JOBS[job]
    folder = PEERS / peer / "bin"
    command = [str(folder / "mpiexec"), *(word.format(n=size) for word in settings), "-n", str(size)]
    command += [str(folder / "python"), str(HERE / "shm_pair.py"), "--scale", scale, "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    if done.returncode != 0:
        sys.exit(f"{job} on {size} ranks failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _show(size: int, rows: dict[str, list[dict[str, Any]]], limits: dict[str, float]) -> None:
    """One line per operation and distance: against the MPI that was fastest there."""
    print(f"\n{size} ranks, medians in us (tenth percentile in brackets)")
    print(
        f"{'operation':<30}{'cores':<6}{'ours':>20}{'best MPI':>20}  {'which':<18}"
        f"{'ratio':>14}{'goal':>6}{'limit':>10}{'x limit':>9}"
    )
    for operation in [row["operation"] for row in next(iter(rows.values()))]:
        goal = GOALS.get(size, {}).get(operation)
        limit = limits.get(LIMITS.get(operation, ""))
        for where in ("near", "far") if size == 2 else ("all",):
            cells = {
                job: cell
                for job, measured in rows.items()
                for row in measured
                if row["operation"] == operation and (cell := row[where])
            }
            if not cells:
                continue
            best = min(cells, key=lambda job: cells[job]["peer_us"])
            print(_line(operation, where, best, cells[best], goal if where != "far" else None, limit))


def _line(
    operation: str, where: str, peer: str, cell: dict[str, float], goal: float | None, limit: float | None
) -> str:
    ratio, low = cell["ours_us"] / cell["peer_us"], cell["ours_p10_us"] / cell["peer_p10_us"]
    us = f"{cell['ours_us']:.2f} ({cell['ours_p10_us']:.2f})"
    them = f"{cell['peer_us']:.2f} ({cell['peer_p10_us']:.2f})"
    text = f"{operation:<30}{where:<6}{us:>20}{them:>20}  {peer:<18}{f'{ratio:.2f} ({low:.2f})':>14}"
    text += f"{goal:>6.2f}" if goal else f"{'':>6}"
    return text + (f"{limit:>10.2f}{cell['ours_p10_us'] / limit:>9.1f}" if limit else "")


def _do(*command: str) -> Sequence[str]:
    subprocess.run(command, check=True)
    return command


if __name__ == "__main__":
    main()
