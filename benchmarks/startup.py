"""What ``cobre run`` costs beside the iterations: interpreter, imports, loading, checking, set-up, writing.

    python benchmarks/startup.py [CASE ...] [--against PYTHON] [--rounds N] [--run ARGUMENTS]

Without CASE it runs the example that ``cobre init`` writes. ``--against`` names the interpreter of another
environment with Cobre, for instance of the commit before; the two take turns. Wall and processor seconds are medians;
the time of the iterations, which the run itself records, is taken off the wall time. Each run does one iteration, so
that little else is left in the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import publish

from cobre.io.examples import write_example

DEADLINE_S = 300


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--against", help="interpreter of another environment")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--run", default="--skip-simulation --quiet", help="further arguments of cobre run")
    options = parser.parse_args()
    trees = {"this": sys.executable, **({"other": options.against} if options.against else {})}
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in _prepared([Path(case) for case in options.cases], Path(folder)):
            found = _take_turns(case, trees, options.rounds, shlex.split(options.run))
            for tree, samples in found.items():
                wall, processor = (statistics.median(column) for column in zip(*samples, strict=True))
                figures[f"{case.name}, {tree}: wall time outside the iterations"] = wall
                figures[f"{case.name}, {tree}: processor time of the run"] = processor
    publish("startup", "s", figures)


def _prepared(cases: list[Path], folder: Path) -> list[Path]:
    """Copies of the cases that train for one iteration."""
    if not cases:
        write_example(folder / "example")
        copies = [folder / "example"]
    else:
        ignored = shutil.ignore_patterns("output")
        copies = [Path(shutil.copytree(case, folder / case.name, ignore=ignored)) for case in cases]
    for copy in copies:
        path = copy / "config.json"
        config = json.loads(path.read_text())
        config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 1}]
        path.write_text(json.dumps(config))
    return copies


def _take_turns(
    case: Path, trees: dict[str, str], rounds: int, arguments: list[str]
) -> dict[str, list[tuple[float, float]]]:
    samples: dict[str, list[tuple[float, float]]] = {tree: [] for tree in trees}
    for number in range(rounds + 1):
        for tree, python in trees.items():
            sample = _run(case, python, arguments)
            if number:  # the first one may have had to compile modules and to read them from a disk
                samples[tree].append(sample)
    return samples


def _run(case: Path, python: str, arguments: list[str]) -> tuple[float, float]:
    """Wall seconds without the iterations, and processor seconds, of one run."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    shutil.rmtree(case / "output", ignore_errors=True)  # the run would have to remove it
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [python, "-m", "cobre", "run", str(case), *arguments],
        check=True,
        timeout=DEADLINE_S,
        env=environment,
        cwd=case,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    timings = json.loads((case / "output" / "training" / "timings.json").read_text())
    loop = (timings["wall_ms"] - timings["phase_setup_ms"]) / 1000.0
    return wall - loop, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
