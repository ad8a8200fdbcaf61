"""Processor time per iteration of training, and until the lower bound comes near the best known one.

    python benchmarks/time_to_bound.py CASE [--passes 8] [--iterations 30] [--best BOUND] [--no-store]

Duals at degenerate vertices differ between solvers, and so does the worth of a cut: an iteration that is faster but
raises the bound less is no gain. Without ``--best`` the best bound is the highest that a run here reaches.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from record import publish
from training_split import with_training

import cobre
import cobre.sddp.passes
import cobre.sddp.stage
import cobre.sddp.training
from cobre.comm import LocalCommunicator
from cobre.core.case import Case
from cobre.sddp.events import ProgressEvent
from cobre.sddp.forward import Trajectories
from cobre.solver import LpSolver

ROUNDS = 3
SHARES = (0.99, 0.999)
METHODS: dict[str, Callable[..., LpSolver]] = {
    "own simplex": LpSolver,
    "HiGHS": partial(LpSolver, only_highs=True),
}


@contextmanager
def trained_by(make: Callable[..., LpSolver]) -> Iterator[None]:
    """Stages that are opened in this context get their solvers from ``make``."""
    before = cobre.sddp.stage.LpSolver
    cobre.sddp.stage.LpSolver = make  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        cobre.sddp.stage.LpSolver = before  # type: ignore[misc]


def curve(case: Case, make: Callable[..., LpSolver]) -> tuple[list[float], list[float]]:
    """Processor time since the first iteration began and lower bound, after each iteration."""
    times: list[float] = []
    bounds: list[float] = []

    def note(event: ProgressEvent) -> None:
        times.append(time.process_time())
        bounds.append(event.lower_bound)

    starts: list[float] = []
    forward_pass = cobre.sddp.passes.forward_pass

    def noted_forward_pass(*arguments: Any) -> Trajectories:
        starts.append(time.process_time())
        return forward_pass(*arguments)

    cobre.sddp.passes.forward_pass = noted_forward_pass
    try:
        with trained_by(make), LocalCommunicator() as comm:
            cobre.sddp.training.train(comm, case, on_progress=note)
    finally:
        cobre.sddp.passes.forward_pass = forward_pass
    return [moment - starts[0] for moment in times], bounds


def main() -> None:
    """Alternate the methods, so that drift of the machine hits both alike."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("--passes", type=int)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--best", type=float, help="the best known bound")
    parser.add_argument("--no-store", action="store_true", help="print only")
    options = parser.parse_args()
    case = with_training(cobre.load_case(options.case), options.iterations, options.passes)
    curves: dict[str, list[tuple[list[float], list[float]]]] = {name: [] for name in METHODS}
    for _ in range(ROUNDS):
        for name, make in METHODS.items():
            curves[name].append(curve(case, make))
    best = options.best or max(bounds[-1] for found in curves.values() for _, bounds in found)
    figures = {"best bound": best}
    for name, found in curves.items():
        bounds = found[0][1]
        figures[f"{name}: ms per iteration"] = 1e3 * statistics.median(t[-1] for t, _ in found) / len(bounds)
        figures[f"{name}: bound reached, share of best"] = bounds[-1] / best
        for share in SHARES:
            reached = [k for k, bound in enumerate(bounds) if bound >= share * best]
            if reached:
                seconds = statistics.median(times[reached[0]] for times, _ in found)
                figures[f"{name}: s to {share:.1%} of best"] = seconds
                figures[f"{name}: iterations to {share:.1%} of best"] = reached[0] + 1.0
    publish(f"time_to_bound_{case.name}", "s, ms, counts", figures, is_stored=not options.no_store)


if __name__ == "__main__":
    main()
