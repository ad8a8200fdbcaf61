"""Where the time of training goes, and what each rank keeps in memory. How it grows: ``growth.py``.

    python benchmarks/training_split.py [CASE] [--parts split memory] [--iterations N]

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


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?")
    parser.add_argument("--parts", nargs="+", default=["split", "memory"])
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = cobre.load_case(named_cases([options.case] if options.case else [], folder)[0])
    if "split" in options.parts:
        publish(f"training_split_{case.name}", "% of the loop, or ms", split(case, options.iterations))
    if "memory" in options.parts:
        publish(f"training_memory_{case.name}", "MB per rank", memory(case))


def with_training(case: Case, iterations: int, passes: int | None = None) -> Case:
    """The case with other numbers of iterations and passes."""
    training = replace(case.config.training, stopping_rules=(IterationLimit(iterations),))
    if passes is not None:
        training = replace(training, forward_passes=passes)
    return replace(case, config=replace(case.config, training=training))


def split(case: Case, iterations: int) -> dict[str, float]:
    """Shares of the loop with one and two workers, and how much faster two are; three alternating runs each."""
    study = with_training(case, iterations)
    runs: dict[int, list[TrainingResult]] = {1: [], 2: []}
    for _ in range(3):
        for workers, found in runs.items():
            found.append(cobre.train(study, num_workers=workers))
    figures = {}
    for workers, found in runs.items():
        result = min(found, key=loop_ms)
        timings, loop = result.timings, loop_ms(result)
        figures[f"{workers} workers: loop, ms"] = loop
        for part in PARTS:
            figures[f"{workers} workers: solver {part}, %"] = 100.0 * timings[f"solver_{part}_ms"] / loop
        for name in ("python", "communication", "waiting"):
            figures[f"{workers} workers: {name}, %"] = 100.0 * timings[f"{name}_ms"] / loop
        lp = timings["solver_run_ms"] + timings["solver_basis_ms"]
        figures[f"{workers} workers: around LPs without waiting, %"] = (
            100.0 * (loop - lp - timings["waiting_ms"]) / loop
        )
    medians = {workers: statistics.median(map(loop_ms, found)) for workers, found in runs.items()}
    figures["two workers' time over one's, %"] = 100.0 * medians[2] / medians[1]
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
