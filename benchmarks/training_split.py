"""Where the time of training goes, and what each rank keeps in memory. How it grows: ``growth.py``.

    python benchmarks/training_split.py [CASE] [--parts split memory] [--iterations N] [--passes N]

Without CASE it trains the example that ``cobre init`` writes. Times are this machine's; run it on free cores.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from named_cases import named_cases
from record import publish

import cobre
from cobre.comm import GroupMember, run
from cobre.core.case import Case
from cobre.core.config import IterationLimit
from cobre.sddp.sharing import share
from cobre.sddp.workspace import open_workspace
from cobre.study import TrainingResult

PARTS = ("run", "basis", "patch", "extract", "cuts")
ROUNDS = 9


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?")
    parser.add_argument("--parts", nargs="+", default=["split", "memory"])
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--passes", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = cobre.load_case(named_cases([options.case] if options.case else [], folder)[0])
    if "split" in options.parts:
        publish(
            f"training_split_{case.name}",
            "% of the loop, or ms",
            split(case, options.iterations, options.passes),
        )
    if "memory" in options.parts:
        publish(f"training_memory_{case.name}", "MB per rank", memory(case))


def with_training(case: Case, iterations: int, passes: int | None = None) -> Case:
    """The case with other numbers of iterations and passes."""
    training = replace(case.config.training, stopping_rules=(IterationLimit(iterations),))
    if passes is not None:
        training = replace(training, forward_passes=passes)
    return replace(case, config=replace(case.config, training=training))


WORKERS = {"one": {}, "two processes": {"num_workers": 2}, "two threads": {"threads": 2}}


def split(case: Case, iterations: int, passes: int | None) -> dict[str, float]:
    """Shares of the loop of one worker and of two, and what two take of one's time; alternating runs.

    ``loop`` are the iterations, ``call`` is all of `cobre.train`, the start of processes included.
    """
    study = with_training(case, iterations, passes)
    runs: dict[str, list[TrainingResult]] = {name: [] for name in WORKERS}
    calls: dict[str, list[float]] = {name: [] for name in WORKERS}
    for _ in range(ROUNDS):
        for name, options in WORKERS.items():
            began = time.perf_counter()
            runs[name].append(cobre.train(study, **options))
            calls[name].append(1000.0 * (time.perf_counter() - began))
    figures = {}
    for name, found in runs.items():
        result = min(found, key=loop_ms)
        timings, loop = result.timings, loop_ms(result)
        figures[f"{name}: loop, ms"] = statistics.median(map(loop_ms, found))
        figures[f"{name}: call, ms"] = statistics.median(calls[name])
        for part in PARTS:
            figures[f"{name}: solver {part}, %"] = 100.0 * timings[f"solver_{part}_ms"] / loop
        for part in ("python", "communication", "waiting"):
            figures[f"{name}: {part}, %"] = 100.0 * timings[f"{part}_ms"] / loop
    for name in list(WORKERS)[1:]:
        for part in ("loop", "call"):
            figures[f"{name} over one: {part}"] = figures[f"{name}: {part}, ms"] / figures[f"one: {part}, ms"]
    return figures


def loop_ms(result: TrainingResult) -> float:
    """The iterations without start-up."""
    return result.timings["wall_ms"] - result.timings["phase_setup_ms"]


def with_openings(case: Case, n: int) -> Case:
    """The case with ``n`` openings in every stage."""
    stages = tuple(replace(stage, n_openings=n) for stage in case.horizon.stages)
    return replace(case, horizon=replace(case.horizon, stages=stages))


def memory(case: Case) -> dict[str, float]:
    """What a rank has for itself and what it shares, with 1, 2 and 4 ranks and a tree of some 100 MB."""
    width = len(case.system.hydros) + len(case.system.buses) + len(case.system.non_controllables)
    n_openings = round(100e6 / (8 * width * case.horizon.n_stages))
    big = with_openings(case, n_openings)
    figures = {"tree as parameters": 8e-6 * width * case.horizon.n_stages * n_openings}
    for ranks in (1, 2, 4):
        found = run(_memory_of_rank, num_workers=ranks, backend="shm", args=(big,))
        for name in ("private", "shared"):
            figures[f"{ranks} ranks: {name}, mean"] = statistics.mean(of_rank[name] for of_rank in found)
        figures[f"{ranks} ranks: all together"] = sum(of_rank["proportional"] for of_rank in found)
    return figures


def _memory_of_rank(comm: GroupMember, case: Case) -> dict[str, float]:
    shared = share(comm, case if comm.rank == 0 else None)
    del case
    work = open_workspace(comm, shared)
    total = sum(float(model.openings.sum()) for model in work.models)  # every page is mapped now
    comm.barrier()
    pages = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, kilobytes = line.split()[:2]
        pages[name.rstrip(":")] = float(kilobytes) / 1000.0
    comm.barrier()
    time.sleep(0.0 * total)
    return {
        "private": pages["Private_Clean"] + pages["Private_Dirty"],
        "shared": pages["Shared_Clean"] + pages["Shared_Dirty"],
        "proportional": pages["Pss"],
    }


if __name__ == "__main__":
    main()
