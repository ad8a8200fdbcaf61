"""How steep the future cost can be: a bound of its slope by each component of the state, from duality.

The slope of a stage's cost by its incoming state is the dual of the rows that fix that state. Whatever the openings
and the state are, an optimal dual solution meets the conditions of the columns without a limit on one side; a column
with both limits sets none. The greatest and the least value of that dual under these conditions are linear programs of
their own. Water that is missing may cost as much as a deficit, water that is too much only its spillage: so the two
sides have slopes of their own. Where one has no limit, nothing in the stage can make up for a unit, and the slope has
to come from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.sddp.subproblem import StageProblem
from cobre.solver import BatchOutput, LpSolver, LpTemplate, Patches, Target


@dataclass(frozen=True, eq=False)
class Slopes:
    """By component of the state, none below 0: what a unit ``more`` and a unit ``less`` of it cost at most."""

    more: Floats
    less: Floats

    @classmethod
    def of(cls, coefficients: Floats) -> Slopes:
        """Of the highest of linear functions, ``[function, component]``; 0 where there are none."""
        most, least = coefficients.max(axis=0, initial=0.0), coefficients.min(axis=0, initial=0.0)
        return cls(most, -least)

    def filled(self, value: float) -> Slopes:
        """With ``value`` for what has no limit."""
        more, less = (np.where(np.isfinite(each), each, value) for each in (self.more, self.less))
        return Slopes(more, less)

    def scaled(self, factor: float) -> Slopes:
        """All of them times ``factor``."""
        return Slopes(factor * self.more, factor * self.less)


def incoming_slopes(problem: StageProblem, following: Slopes) -> Slopes:
    """Of the cost of a stage and all after it, whose slopes are ``following`` at most.

    Infinite where no limit is known.
    """
    dimension = problem.parameters.state_dimension
    if not dimension:
        return Slopes(np.empty(0), np.empty(0))
    dual = _dual_conditions(problem.template, following)
    rows = problem.template.observed_rows[:dimension].tolist()
    more, less = (np.array([_greatest(dual, row, sign) for row in rows]) for sign in (1.0, -1.0))
    return Slopes(more, less)


def _greatest(dual: LpTemplate, row: int, sign: float) -> float:
    """The greatest ``sign *`` dual of ``row``; infinite if there is none."""
    cost = np.zeros(dual.n_columns)
    cost[row] = -sign
    patches = Patches.of(1, [(Target.COLUMN_COST, row, 0, 0.0, -sign)])
    solver = LpSolver(replace(dual, column_cost=cost, patches=patches))
    output = BatchOutput(np.empty(1), np.empty((1, 0)), np.empty((1, 0)))
    outcome = solver.solve_batch(np.ones((1, 1)), output)
    return max(0.0, -float(output.objective[0])) if outcome.is_optimal else np.inf


def _dual_conditions(template: LpTemplate, following: Slopes) -> LpTemplate:
    """Columns: the duals of all rows, then the slopes of the future. Rows: the conditions of columns."""
    n, m, dimension = template.n_columns, template.n_rows, len(following.more)
    lower, upper = _dual_signs(template)
    entries: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    starts = template.row_starts.tolist()
    for row in range(m):
        for k in range(starts[row], starts[row + 1]):
            entries[int(template.column_indices[k])].append((row, float(template.values[k])))
    discount = float(template.column_cost[template.future_cost_column])
    for j, column in enumerate(template.cut_columns.tolist()):
        entries[column].append((m + j, -discount))
    has_lower, has_upper = _limited(template)
    rows = [k for k in range(n) if k != template.future_cost_column and not (has_lower[k] and has_upper[k])]
    cost = template.column_cost
    return LpTemplate(
        column_cost=np.zeros(m + dimension),
        column_lower=np.concatenate([lower, -following.less]),
        column_upper=np.concatenate([upper, following.more]),
        row_lower=np.array([-np.inf if has_lower[k] else cost[k] for k in rows]),
        row_upper=np.array([np.inf if has_upper[k] else cost[k] for k in rows]),
        row_starts=np.concatenate([[0], np.cumsum([len(entries[k]) for k in rows])]).astype(np.int32),
        column_indices=np.array([index for k in rows for index, _ in entries[k]], dtype=np.int32),
        values=np.array([value for k in rows for _, value in entries[k]]),
    )


def _limited(template: LpTemplate) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each column has a lower and an upper limit, of its own or from a parameter."""
    has_lower, has_upper = np.isfinite(template.column_lower), np.isfinite(template.column_upper)
    for target, index in zip(template.patches.target.tolist(), template.patches.index.tolist(), strict=True):
        if target == Target.COLUMN_LOWER:
            has_lower[index] = True
        elif target == Target.COLUMN_UPPER:
            has_upper[index] = True
    return has_lower, has_upper


def _dual_signs(template: LpTemplate) -> tuple[Floats, Floats]:
    """Limits of the duals: a row with a lower limit alone has none below 0, one with an upper limit none above."""
    has_lower, has_upper = np.isfinite(template.row_lower), np.isfinite(template.row_upper)
    for target, index in zip(template.patches.target.tolist(), template.patches.index.tolist(), strict=True):
        if target in (Target.ROW_EQUAL, Target.ROW_LOWER):
            has_lower[index] = True
        if target in (Target.ROW_EQUAL, Target.ROW_UPPER):
            has_upper[index] = True
    lower = np.where(has_upper, -np.inf, 0.0)
    upper = np.where(has_lower, np.inf, 0.0)
    return lower, upper
