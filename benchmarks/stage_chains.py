"""Solve recorded chains of a training run again, by our own dual simplex method and by HiGHS.

    python benchmarks/stage_chains.py [CASE ...] [--passes 8] [--iterations 30] [--no-store]

Trains each case (without CASE: the example that ``cobre init`` writes), keeps the backward chains of its last
iteration with cuts and start bases, and solves them in alternating rounds. Times are processor time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from named_cases import named_cases
from record import publish
from time_to_bound import trained_by
from training_split import with_training

import cobre
import cobre.sddp.stage
from cobre.comm import LocalCommunicator
from cobre.sddp.training import train
from cobre.solver import BatchOutput, LpSolver, LpTemplate

ROUNDS = 5


@dataclass(frozen=True)
class Recorded:
    """What one call of ``solve_batch`` was about."""

    template: LpTemplate
    cuts: tuple[np.ndarray, np.ndarray, np.ndarray]
    parameters: np.ndarray
    chain_length: int
    block_length: int | None
    start_bases: np.ndarray | None
    order: np.ndarray | None


class RecordingSolver(LpSolver):
    """Keeps the last batch of chains of every instance."""

    recorded: ClassVar[dict[int, Recorded]] = {}

    def solve_batch(self, parameters, output, **options):
        if options.get("chain_length", 1) > 1:
            self.recorded[id(self)] = Recorded(
                self.template,
                self.cuts(),
                parameters.copy(),
                options["chain_length"],
                options.get("block_length"),
                options.get("start_bases"),
                options.get("order"),
            )
        return super().solve_batch(parameters, output, **options)

    def cut_expectation(self, states, openings, weights, rows, **options):
        n = len(openings)
        parameters = np.concatenate(
            [np.repeat(states, n, axis=0), np.tile(openings, (len(states), 1))], axis=1
        )
        self.recorded[id(self)] = Recorded(
            self.template,
            self.cuts(),
            parameters,
            n,
            options["block_length"],
            options["start_bases"],
            options["order"],
        )
        return super().cut_expectation(states, openings, weights, rows, **options)


def record(case: cobre.Case) -> list[Recorded]:
    """Chains of the last iteration, one batch per stage."""
    RecordingSolver.recorded = {}
    with trained_by(RecordingSolver), LocalCommunicator() as comm:
        train(comm, case)
    return list(RecordingSolver.recorded.values())


def solver_for(batch: Recorded, *, only_highs: bool) -> tuple[LpSolver, BatchOutput]:
    """A solver with the batch's cuts, and where it writes."""
    solver = LpSolver(batch.template, only_highs=only_highs)
    solver.set_cuts(*batch.cuts)
    n = len(batch.parameters)
    return solver, solver.allocate(n, chain_length=batch.chain_length, iterations=True)


def solve(batch: Recorded, solver: LpSolver, output: BatchOutput) -> None:
    """Solve the chains of one batch as they were solved when they were recorded."""
    outcome = solver.solve_batch(
        batch.parameters,
        output,
        chain_length=batch.chain_length,
        block_length=batch.block_length,
        start_bases=batch.start_bases,
        order=batch.order,
    )
    assert outcome.is_optimal, outcome


def replay(batches: list[Recorded]) -> dict[str, float]:
    """Microseconds and pivots per solve of both, medians over rounds."""
    methods = {"own simplex": False, "HiGHS": True}
    solvers = {
        name: [solver_for(batch, only_highs=only_highs) for batch in batches]
        for name, only_highs in methods.items()
    }
    n = sum(len(batch.parameters) for batch in batches)
    times: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(ROUNDS):
        for name in methods:
            began = time.process_time()
            for batch, (solver, output) in zip(batches, solvers[name], strict=True):
                solve(batch, solver, output)
            times[name].append((time.process_time() - began) / n * 1e6)
    figures = {"solves": float(n), "cuts per stage": float(max(len(batch.cuts[0]) for batch in batches))}
    for name in methods:
        iterations = np.concatenate([output.iterations for _, output in solvers[name]])
        figures[f"{name}: us per solve"] = statistics.median(times[name])
        figures[f"{name}: pivots per solve"] = float(iterations.mean())
        figures[f"{name}: solves without a pivot, %"] = 100.0 * float(np.mean(iterations == 0))
    handed = sum(solver.counters()["handed_over"] for solver, _ in solvers["own simplex"]) / ROUNDS
    figures["own simplex: handed to HiGHS, %"] = 100.0 * handed / n
    own, highs = ([output.objective for _, output in solvers[name]] for name in methods)
    figures["largest difference of an objective, 1e-12"] = 1e12 * float(
        np.max(np.abs(np.concatenate(own) / np.concatenate(highs) - 1.0))
    )
    return figures


def main() -> None:
    """Record, replay and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--no-store", action="store_true", help="print only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = [cobre.load_case(path) for path in named_cases(options.cases, folder)]
    for case in cases:
        figures = replay(record(with_training(case, options.iterations, options.passes)))
        subject = f"stage_chains_{case.name}"
        publish(subject, "us per solve, counts, %", figures, is_stored=not options.no_store)


if __name__ == "__main__":
    main()
