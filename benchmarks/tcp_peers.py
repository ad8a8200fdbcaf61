"""Ours beside MPI over loopback TCP, in one job, sample by sample; and how far both are from the bare kernel.

    python benchmarks/tcp_peers.py --openmpi DIR --mpich DIR [-n 2] [--scale 0.3] [--only barrier,20MB]

DIR holds bin/python with mpi4py and NumPy, and bin/mpiexec. Either may be left out. Without both only the bare
kernel is measured. Ratios below 1 mean that ours is faster. Every run ends by itself within --limit seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from record import publish

HERE = Path(__file__).parent
OPENMPI = "--allow-run-as-root --bind-to none --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo"
SPINNING = "--host localhost:{n} --mca mpi_yield_when_idle 0"
YIELDING = "--oversubscribe --mca mpi_yield_when_idle 1"
MPICH = "-genv MPIR_CVAR_NOLOCAL 1 -genv MPIR_CVAR_CH4_NETMOD ofi -genv FI_PROVIDER tcp -genv FI_TCP_IFACE lo"


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--openmpi", type=Path, metavar="DIR")
    parser.add_argument("--mpich", type=Path, metavar="DIR")
    parser.add_argument("-n", type=int, default=2, metavar="RANKS")
    parser.add_argument("--scale", default="0.3", help="how many samples, relative to the full set")
    parser.add_argument("--only", default="", help="operations whose names contain one of these")
    parser.add_argument("--limit", type=float, default=300.0, metavar="S")
    options = parser.parse_args()
    figures = bare_kernel(options.limit)
    idle = SPINNING if options.n <= len(os.sched_getaffinity(0)) else YIELDING
    jobs = [
        ("openmpi", options.openmpi, f"{OPENMPI} {idle.format(n=options.n)}"),
        ("mpich", options.mpich, MPICH),
    ]
    for name, folder, settings in jobs:
        if folder is not None:
            figures |= beside(name, folder, settings, options)
    publish(f"tcp_peers_{options.n}", "us, and ratios to the peer", figures)


def bare_kernel(limit: float) -> dict[str, float]:
    """One-byte ping-pong and a stream of 20 MB between two processes, without any library."""
    done = subprocess.run(
        [sys.executable, str(HERE / "tcp_kernel.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=limit,
    )
    return {f"kernel: {name}": value for name, value in json.loads(done.stdout).items()}


def beside(name: str, folder: Path, settings: str, options: argparse.Namespace) -> dict[str, float]:
    """Our time, theirs, and the ratio, for each operation."""
    here = subprocess.run(
        [sys.executable, "-c", "import cobre, pathlib; print(pathlib.Path(cobre.__file__).parents[1])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    command = [str(folder / "bin" / "mpiexec"), *settings.split(), "-n", str(options.n)]
    command += [str(folder / "bin" / "python"), str(HERE / "tcp_pair.py"), options.scale, options.only]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": here},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=options.limit,
    )
    figures = {}
    for row in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines())):
        figures[f"{row['op']}: ours beside {name}"] = row["ours_us"]
        figures[f"{row['op']}: {name}"] = row["peer_us"]
        figures[f"{row['op']}: ratio to {name}"] = row["ours_us"] / row["peer_us"]
    return figures


if __name__ == "__main__":
    main()
