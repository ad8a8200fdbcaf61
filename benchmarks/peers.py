"""Ours beside programs of the public Cobre: time per iteration, to a bound, and of the whole command.

    python benchmarks/peers.py [NAME=PROGRAM ...] [--cases 4ree example big big_lags] [--peer-cases FOLDER]

Each PROGRAM is a public ``cobre``; one whose NAME begins with 0.5 gets the case as it was written, others and ours the
same case converted to the format of 0.18. Without programs only ours is measured. ``--peer-cases`` is the folder that
holds ``4ree``. The programs take turns, each round in the opposite order of the one before, so that whatever drifts
hits all alike. Every run starts from nothing and is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from large_case import Size, write_large_case
from record import publish

from cobre.io.convert import convert_case
from cobre.io.examples import write_example

DEADLINE_S = 900
SHARES = (0.99, 0.999)
OURS = "ours"
BIG = Size(lags=0, stages=24, openings=10, passes=4, iterations=4)
BIG_LAGS = Size(lags=3, stages=24, openings=10, passes=4, iterations=4)
CASES = ("4ree", "example", "big", "big_lags")


class Sample(NamedTuple):
    """One run: seconds of the command, and of its iterations with the bounds after each."""

    wall: float
    times: list[float]
    bounds: list[float]


@dataclass(frozen=True)
class Program:
    """One of those compared."""

    name: str
    command: tuple[str, ...]
    is_older: bool

    def run(self, case: Path, arguments: Sequence[str]) -> Sample:
        """Train ``case`` from nothing."""
        shutil.rmtree(case / "output", ignore_errors=True)
        began = time.perf_counter()
        subprocess.run(
            [*self.command, "run", str(case), "--quiet", *arguments],
            check=True,
            timeout=DEADLINE_S,
            stdout=subprocess.DEVNULL,
        )
        wall = time.perf_counter() - began
        table = pq.read_table(case / "output" / "training" / "convergence.parquet")
        # The public program writes whole milliseconds.
        name = next(n for n in ("iteration_time_ms", "time_total_ms") if n in table.column_names)
        return Sample(
            wall,
            [1e-3 * ms for ms in table[name].to_pylist()],
            table["lower_bound"].to_pylist(),
        )


def ours() -> Program:
    """The package of this interpreter."""
    return Program(OURS, (sys.executable, "-m", "cobre"), is_older=False)


def public(text: str) -> Program:
    """A program as the command line names it."""
    name, _, path = text.partition("=")
    if not path or not os.access(path, os.X_OK):
        raise SystemExit(f"{text}: not NAME=PROGRAM with a program that can be started")
    return Program(name, (path,), is_older=name.startswith("0.5"))


def prepare(name: str, folder: Path, peer_cases: Path | None) -> dict[bool, Path]:
    """The case in the format of 0.5.1 (True), where it has one, and in that of 0.18 (False)."""
    older, newer = folder / f"{name}-0.5", folder / f"{name}-0.18"
    if name == "example":
        write_example(newer)
        _set_training(newer, None, None)
        _recompress(newer)
        return {False: newer}
    if name == "4ree":
        if peer_cases is None:
            return {}
        shutil.copytree(peer_cases / "4ree", older, ignore=shutil.ignore_patterns("output"))
        _set_training(older, 8, 30)
    else:
        write_large_case(older, BIG if name == "big" else BIG_LAGS)
    convert_case(older, newer)
    _recompress(newer)
    return {True: older, False: newer}


def _recompress(case: Path) -> None:
    """Tables with zstd: the public program does not read pyarrow's default."""
    for path in case.rglob("*.parquet"):
        pq.write_table(pq.read_table(path), path, compression="zstd")


def _set_training(case: Path, passes: int | None, iterations: int | None) -> None:
    path = case / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if passes is not None:
        config["training"]["forward_passes"] = passes
    if iterations is not None:
        config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    config["simulation"] = {**config.get("simulation", {}), "enabled": False}
    path.write_text(json.dumps(config), encoding="utf-8")


def take_turns(
    programs: list[Program], cases: dict[bool, Path], rounds: int, workers: int
) -> dict[str, list[Sample]]:
    """Samples of each program; the first round only warms up."""
    ways = [
        (name, program, arguments)
        for program in programs
        if program.is_older in cases
        for name, arguments in _ways(program, workers)
    ]
    samples: dict[str, list[Sample]] = {name: [] for name, _, _ in ways}
    for number in range(rounds + 1):
        for name, program, arguments in ways if number % 2 else reversed(ways):
            sample = program.run(cases[program.is_older], arguments)
            if number:
                samples[name].append(sample)
    return samples


def _ways(program: Program, workers: int) -> list[tuple[str, list[str]]]:
    """Ours shares work among threads or processes, the public program among threads."""
    if workers == 1:
        return [(program.name, [])]
    threads = (f"{program.name}, {workers} threads", ["--threads", str(workers)])
    if program.name != OURS:
        return [threads]
    return [threads, (f"{program.name}, {workers} processes", ["-n", str(workers)])]


def figures_of(samples: dict[str, list[Sample]]) -> dict[str, float]:
    """Medians over rounds; to the bound: the highest that any program reached in this case."""
    best = max(max(run.bounds) for runs in samples.values() for run in runs)
    figures = {"best bound": best}
    for name, runs in samples.items():
        figures[f"{name}: wall s"] = statistics.median(run.wall for run in runs)
        figures[f"{name}: ms per iteration"] = 1e3 * statistics.median(
            sum(run.times) / len(run.times) for run in runs
        )
        figures[f"{name}: bound, share of best"] = statistics.median(run.bounds[-1] / best for run in runs)
        for share in SHARES:
            seconds = [_until(run, share * best) for run in runs]
            if all(each is not None for each in seconds):
                figures[f"{name}: s to {share:.1%}"] = statistics.median(each for each in seconds if each)
    return {**figures, **_ratios(samples, figures)}


def _until(run: Sample, bound: float) -> float | None:
    """Seconds of iterations until ``bound``; None if it was not reached."""
    for k, reached in enumerate(run.bounds):
        if reached >= bound:
            return sum(run.times[: k + 1])
    return None


def _ratios(samples: dict[str, list[Sample]], figures: dict[str, float]) -> dict[str, float]:
    """Ours over the best public one."""
    ratios = {}
    for measure in ("wall s", "ms per iteration", *(f"s to {share:.1%}" for share in SHARES)):
        values = {name: figures[f"{name}: {measure}"] for name in samples if f"{name}: {measure}" in figures}
        others = [value for name, value in values.items() if not name.startswith(OURS)]
        for name, value in values.items():
            if name.startswith(OURS) and others:
                ratios[f"{name} over the best public one: {measure}"] = value / min(others)
    return ratios


def main() -> None:
    """Measure and store, one file per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="NAME=PROGRAM")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--peer-cases", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--no-store", action="store_true", help="print only")
    options: Any = parser.parse_args()
    programs = [ours(), *map(public, options.programs)]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases:
            cases = prepare(name, Path(folder), options.peer_cases)
            if not cases:
                print(f"{name}: skipped, --peer-cases names the folder that holds it")
                continue
            for workers in options.workers:
                figures = figures_of(take_turns(programs, cases, options.rounds, workers))
                subject = f"peers_{name}_{workers}"
                publish(subject, "s, ms, ratios", figures, is_stored=not options.no_store)


if __name__ == "__main__":
    main()
