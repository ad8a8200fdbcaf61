"""Trains one case in every way there is and compares one hash over bounds, statistics, cuts and policy files.

    python benchmarks/same_bits.py [CASE] [--iterations N]

With COBRE_TEST_MPI naming the folder of the MPI environments (``make same-bits`` does), mpi is among them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from named_cases import named_cases
from training_split import with_training

import cobre
from cobre.core.case import Case
from cobre.core.config import CutSelection
from cobre.study import TrainingResult

WAYS = [(1, "local"), (1, "local"), (2, "shm"), (3, "shm"), (4, "shm"), (2, "tcp"), (3, "tcp")]
ON_MPI = """
import sys
sys.path.insert(0, {here!r})
import cobre
from same_bits import digest, study
with cobre.comm.create_communicator() as comm:
    case = study({case!r}, {iterations}) if comm.rank == 0 else None
    result = cobre.train(case, comm=comm)
    if comm.rank == 0:
        print("digest", digest(result), flush=True)
"""


def main() -> int:
    """Print a line per way; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?")
    parser.add_argument("--iterations", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = named_cases([options.case] if options.case else [], folder)[0]
        case = study(path, options.iterations)
        found = [_told(f"{backend} {n}", digest(cobre.train(case, n, backend))) for n, backend in WAYS]
        for library, n in _on_mpi():
            found.append(
                _told(f"{Path(library).name} {n}", _mpi(library, n, path, options.iterations, Path(folder)))
            )
    agree = len(set(found)) == 1
    print("all the same" if agree else "DIFFERENT BITS")
    return 0 if agree else 1


def study(path: str, iterations: int) -> Case:
    """The case with settings that exercise what could depend on the split: several passes, selection and a cap."""
    case = with_training(cobre.load_case(path), iterations, 5)
    selection = CutSelection("lml1", check_frequency=5, memory_window=10, max_active_per_stage=100)
    training = replace(case.config.training, cut_selection=selection)
    return replace(case, config=replace(case.config, training=training))


def digest(result: TrainingResult) -> str:
    """One hash over everything that must not depend on how training was split."""
    found = hashlib.sha256(result.policy.to_bytes())
    for name in ("iteration", "lower_bound", "upper_bound", "upper_bound_std", "ci_95", "gap"):
        found.update(result.convergence_history[name].to_numpy().tobytes())
    found.update(repr((result.iterations, result.termination_reason, result.total_cuts)).encode())
    return found.hexdigest()


def _told(way: str, found: str) -> str:
    print(f"  {way:<12} {found}", flush=True)
    return found


def _on_mpi() -> list[tuple[str, int]]:
    folder = os.environ.get("COBRE_TEST_MPI")
    if not folder:
        print("  mpi is left out: COBRE_TEST_MPI names no folder")
        return []
    return [(str(path), n) for path in sorted(Path(folder).iterdir()) for n in (2, 3)]


def _mpi(library: str, n: int, case: str, iterations: int, folder: Path) -> str:
    program = folder / "program.py"
    here = str(Path(__file__).parent)
    program.write_text(
        ON_MPI.format(here=here, case=str(Path(case).resolve()), iterations=iterations), encoding="utf-8"
    )
    python = Path(library) / "bin" / "python"
    command = [python, "-m", "cobre", "launch", "-n", n, "--backend", "mpi", "--no-prefix", "--", program]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("digest "):
            return line.split()[1]
    return f"failed with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}"


if __name__ == "__main__":
    sys.exit(main())
