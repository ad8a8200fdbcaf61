"""Says which constraints a program without a solution cannot keep together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.solver.batch import BatchOutput, Status
from cobre.solver.model_file import ModelData
from cobre.solver.template import LpTemplate

__all__ = ["Violation", "explain"]

_TOLERANCE = 1e-6
_CROSSING = "the lower bound is above the upper one"


@dataclass(frozen=True)
class Violation:
    """One constraint that must give way by ``amount`` (in its own unit) for the program to have a solution."""

    name: str
    is_row: bool
    lower: float
    upper: float
    activity: float
    """What the row adds up to, or the column is, at the least violation; NaN where the bounds themselves cross."""
    amount: float

    def __str__(self) -> str:
        what = "row" if self.is_row else "column"
        if np.isnan(self.activity):
            return f"{what} {self.name}: {_CROSSING} ({self.lower:g} > {self.upper:g})"
        side = f"at least {self.lower:g}" if self.activity < self.lower else f"at most {self.upper:g}"
        if self.lower == self.upper:
            side = f"{self.lower:g}"
        return f"{what} {self.name} must be {side} but comes to {self.activity:g}"


def explain(model: ModelData, limit: int) -> list[Violation]:
    """The least violation of rows that makes ``model`` solvable, the largest first.

    Each row may give way at a price of one per unit of its largest coefficient; column bounds hold. The cheapest
    way is one of many: it names a likely culprit, not a proof.
    """
    crossing = _crossing(model)
    if crossing:
        return crossing[:limit]
    solved = _least_violation(model)
    if solved is None:
        return []
    primal, weights = solved
    found = []
    for row, (indices, values) in enumerate(model.rows):
        activity = 0.0
        for column, value in zip(indices.tolist(), values.tolist(), strict=True):
            activity += value * float(primal[column])
        lower, upper = float(model.row_lower[row]), float(model.row_upper[row])
        amount = max(lower - activity, activity - upper)
        if amount * weights[row] > _TOLERANCE:
            weighed = amount * float(weights[row])
            found.append((weighed, Violation(model.row_names[row], True, lower, upper, activity, amount)))
    found.sort(key=lambda pair: -pair[0])
    return [violation for _, violation in found[:limit]]


def _crossing(model: ModelData) -> list[Violation]:
    sides = (
        (True, model.row_names, model.row_lower, model.row_upper),
        (False, model.column_names, model.column_lower, model.column_upper),
    )
    found = [
        Violation(names[k], is_row, float(lower[k]), float(upper[k]), np.nan, float(lower[k] - upper[k]))
        for is_row, names, lower, upper in sides
        for k in np.flatnonzero(lower > upper).tolist()
    ]
    return sorted(found, key=lambda violation: -violation.amount)


def _least_violation(model: ModelData) -> tuple[Floats, Floats] | None:
    # Not above: the solver imports this module for its own explanations.
    from cobre.solver.solver import LpSolver

    n, m = len(model.column_cost), len(model.rows)
    weights = np.array([1.0 / max(np.abs(values).max(initial=0.0), 1e-30) for _, values in model.rows])
    weights[~np.isfinite(weights) | (weights > 1e20)] = 1.0
    indices = [
        np.concatenate([columns, [n + row, n + m + row]]) for row, (columns, _) in enumerate(model.rows)
    ]
    values = [np.concatenate([entries, [1.0, -1.0]]) for _, entries in model.rows]
    template = LpTemplate(
        column_cost=np.concatenate([np.zeros(n), weights, weights]),
        column_lower=np.concatenate([model.column_lower, np.zeros(2 * m)]),
        column_upper=np.concatenate([model.column_upper, np.full(2 * m, np.inf)]),
        row_lower=model.row_lower,
        row_upper=model.row_upper,
        row_starts=np.concatenate([[0], np.cumsum([len(row) for row in indices])]).astype(np.int32),
        column_indices=np.concatenate(indices).astype(np.int32) if indices else np.empty(0, np.int32),
        values=np.concatenate(values) if values else np.empty(0),
    )
    primal = np.empty((1, template.n_columns))
    output = BatchOutput(np.empty(1), np.empty((1, 0)), np.empty((1, 0)), primal=primal)
    outcome = LpSolver(template).solve_batch(np.empty((1, 0)), output)
    return (primal[0, :n], weights) if outcome.status is Status.OPTIMAL else None
