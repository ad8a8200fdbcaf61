"""What the solvers of a run did: the tables below ``solver``, in training and in simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.core.training_tables import RETRY_HISTOGRAM, SOLVER_ITERATIONS
from cobre.sddp.stage import StageModel

Floats = NDArray[np.float64]
Columns = dict[str, list[Any]]
Part = tuple[int | None, str, Floats]
"""Iteration (None in a simulation), phase, and counters ``[stage, counter]``."""

RECOVERED = tuple(f"recovered_{attempt}" for attempt in range(2, 8))
COUNTERS = (
    "solves",
    "chains",
    "iterations",
    "retries",
    "run_ns",
    "cuts_ns",
    "patch_ns",
    "basis_ns",
    *RECOVERED,
)
"""What is counted, in the order of arrays of counters."""
NS_PER_MS = 1e6


def solver_counters(models: Sequence[StageModel]) -> Floats:
    """``[model, counter]`` of this rank's solvers up to now: see `COUNTERS`."""
    rows = [model.solver.counters() for model in models]
    return np.array([[row[name] for name in COUNTERS] for row in rows], dtype=np.float64)


def by_stage(models: Sequence[StageModel], values: Floats) -> Floats:
    """``[..., stage, counter]``: ``values [..., model, counter]`` added up over the models of each stage."""
    indices = [model.index for model in models]
    if indices == list(range(len(models))):
        return values
    found = np.zeros((*values.shape[:-2], 1 + max(indices), values.shape[-1]))
    for k, index in enumerate(indices):
        found[..., index, :] += values[..., k, :]
    return found


def solver_columns(parts: Iterable[Part], stage_ids: Sequence[int]) -> Columns:
    """`cobre.core.training_tables.SOLVER_ITERATIONS` from parts of a run."""
    found: Columns = {name: [] for name in SOLVER_ITERATIONS.column_names}
    for iteration, phase, counters in parts:
        for stage, values in zip(stage_ids, counters.tolist(), strict=True):
            counts = dict(zip(COUNTERS, values, strict=True))
            if counts["solves"]:
                row = {"iteration": iteration, "phase": phase, "stage_id": stage, **_solver_row(counts)}
                for name, column in found.items():
                    column.append(row.get(name))
    return found


def retry_columns(parts: Iterable[Part], stage_ids: Sequence[int]) -> Columns:
    """`cobre.core.training_tables.RETRY_HISTOGRAM` from the same parts."""
    found: Columns = {name: [] for name in RETRY_HISTOGRAM.column_names}
    first = COUNTERS.index(RECOVERED[0])
    for iteration, phase, counters in parts:
        recovered = counters[:, first:]
        for stage, level in np.argwhere(recovered > 0).tolist():
            row = (iteration or 0, phase, stage_ids[stage], level + 2, int(recovered[stage, level]))
            for column, value in zip(found.values(), row, strict=True):
                column.append(value)
    return found


def solve_totals(counters: Floats) -> dict[str, float]:
    """Of counters ``[stage, counter]``: how many programs, how many at the first attempt and how many later."""
    total = dict(zip(COUNTERS, counters.sum(axis=0).tolist(), strict=True))
    retried = int(sum(total[name] for name in RECOVERED))
    return {
        "total_lp_solves": int(total["solves"]),
        "first_try": int(total["solves"]) - retried,
        "retried": retried,
        "failed": 0,
        "simplex_iterations": int(total["iterations"]),
        "solve_seconds": total["run_ns"] / 1e9,
    }


def _solver_row(counts: dict[str, float]) -> dict[str, Any]:
    """The columns of `SOLVER_ITERATIONS` that count and time, from counters of solvers."""
    retried = int(sum(counts[name] for name in RECOVERED))
    return {
        "lp_solves": int(counts["solves"]),
        "lp_successes": int(counts["solves"]),
        "lp_retries": retried,
        "lp_failures": 0,
        "retry_attempts": int(counts["retries"]),
        "basis_offered": int(counts["chains"]),
        "basis_consistency_failures": 0,
        "simplex_iterations": int(counts["iterations"]),
        "solve_time_ms": counts["run_ns"] / NS_PER_MS,
        "load_model_time_ms": counts["cuts_ns"] / NS_PER_MS,
        "set_bounds_time_ms": counts["patch_ns"] / NS_PER_MS,
        "basis_set_time_ms": counts["basis_ns"] / NS_PER_MS,
    }
