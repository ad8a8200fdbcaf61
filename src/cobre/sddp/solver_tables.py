"""What the solvers of a run did: the tables below ``solver``, in training and in simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cobre.arrays import Floats
from cobre.core.training_tables import RETRY_HISTOGRAM, SOLVER_ITERATIONS
from cobre.sddp.stage import StageModel
from cobre.solver import COUNTED, count_all

Columns = dict[str, list[Any]]
Part = tuple[int | None, str, Floats]
"""Iteration (None in a simulation), phase, and counters ``[stage, counter]``."""

RECOVERED = tuple(name for name in COUNTED if name.startswith("recovered_"))
COUNTERS = COUNTED
"""What is counted, in the order of arrays of counters."""
NS_PER_MS = 1e6


def solver_counters(models: Sequence[StageModel]) -> Floats:
    """``[model, counter]`` of this rank's solvers up to now: see `COUNTERS`."""
    return np.ascontiguousarray(count_all([model.solver for model in models])[:, : len(COUNTERS)])


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
    keys: list[tuple[int | None, str, int]] = []
    solved = [np.empty((0, len(COUNTERS)))]
    for iteration, phase, counters in parts:
        rows = np.flatnonzero(counters[:, COUNTERS.index("solves")])
        keys.extend((iteration, phase, stage_ids[row]) for row in rows.tolist())
        solved.append(counters[rows])
    found = {
        **{name: [key[k] for key in keys] for k, name in enumerate(("iteration", "phase", "stage_id"))},
        **_counted(np.concatenate(solved)),
    }
    return {name: found.get(name, [None] * len(keys)) for name in SOLVER_ITERATIONS.column_names}


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


def _counted(rows: Floats) -> Columns:
    """The columns of `SOLVER_ITERATIONS` that count and time, from counters ``[row, counter]`` of solvers."""
    count = {name: column.astype(np.int64).tolist() for name, column in zip(COUNTERS, rows.T, strict=True)}
    ms = {name: (column / NS_PER_MS).tolist() for name, column in zip(COUNTERS, rows.T, strict=True)}
    retried = rows[:, COUNTERS.index(RECOVERED[0]) :].sum(axis=1)
    none = [0] * len(rows)
    return {
        "lp_solves": count["solves"],
        "lp_successes": count["solves"],
        "lp_retries": retried.astype(np.int64).tolist(),
        "lp_failures": none,
        "retry_attempts": count["retries"],
        "basis_offered": count["chains"],
        "basis_consistency_failures": none,
        "simplex_iterations": count["iterations"],
        "solve_time_ms": ms["run_ns"],
        "load_model_time_ms": ms["cuts_ns"],
        "set_bounds_time_ms": ms["patch_ns"],
        "basis_set_time_ms": ms["basis_ns"],
    }
