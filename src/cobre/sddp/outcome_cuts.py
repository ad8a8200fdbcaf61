"""Several cuts per trial point (multi-cut): a future cost, and cuts, for every outcome of what comes next.

An outcome is an opening of a child, or the end of a cycle. The stage problem has a column for the future cost of each,
and its future cost is their risk. Rows of cuts have, after the components of the state, a coefficient for the future
cost itself and one for each outcome: -1 where the cut is about, 0 elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import RiskMeasure
from cobre.sddp.cuts import CutPool
from cobre.solver import LpTemplate

Terms = tuple[list[int], list[float]]


def with_outcomes(template: LpTemplate, risk: RiskMeasure, probabilities: Floats, floor: float) -> LpTemplate:
    """``template`` with a future cost for each outcome, none below ``floor``, whose risk bounds the future cost.

    With the weight ``l`` and the tail ``a`` of a CVaR the row is ``future cost >= (1 - l) sum_k p_k f_k +
    l (level + sum_k p_k / a excess_k)``, where ``excess_k >= f_k - level`` and no excess is negative.
    """
    n, count = template.n_columns, len(probabilities)
    future, of_outcome = template.future_cost_column, np.arange(n + 1, n + 1 + count)
    nothing = n
    lower, upper = [0.0, *[floor] * count], [0.0, *[np.inf] * count]
    if risk.is_expectation:
        rows = [_row([future, *of_outcome], [1.0, *(-probabilities)])]
    else:
        level, excess = n + 1 + count, np.arange(n + 2 + count, n + 2 + 2 * count)
        lower += [-np.inf, *[0.0] * count]
        upper += [np.inf] * (1 + count)
        rows = [
            _row(
                [future, *of_outcome, level, *excess],
                [
                    1.0,
                    *(-(1.0 - risk.weight) * probabilities),
                    -risk.weight,
                    *(-risk.weight / risk.tail * probabilities),
                ],
            ),
            *(
                _row([cost, level, above], [-1.0, 1.0, 1.0])
                for cost, above in zip(of_outcome.tolist(), excess.tolist(), strict=True)
            ),
        ]
    starts = template.row_starts[-1] + np.cumsum([len(columns) for columns, _ in rows])
    return replace(
        template,
        column_cost=np.concatenate([template.column_cost, np.zeros(len(lower))]),
        column_lower=np.concatenate([template.column_lower, lower]),
        column_upper=np.concatenate([template.column_upper, upper]),
        row_lower=np.concatenate([template.row_lower, np.zeros(len(rows))]),
        row_upper=np.concatenate([template.row_upper, np.full(len(rows), np.inf)]),
        row_starts=np.concatenate([template.row_starts, starts]).astype(np.int32),
        column_indices=np.concatenate([template.column_indices, *(columns for columns, _ in rows)]).astype(
            np.int32
        ),
        values=np.concatenate([template.values, *(values for _, values in rows)]),
        cut_columns=np.concatenate([template.cut_columns, [future], of_outcome]).astype(np.int32),
        future_cost_column=nothing,  # 0: what a cut is about is among its coefficients
        column_names=None,
        row_names=None,
    )


def _row(columns: list[int], values: list[float]) -> tuple[Ints, Floats]:
    order = np.argsort(columns, kind="stable")
    return np.array(columns)[order], np.array(values)[order]


def rows_of_points(rows: Floats, n_outcomes: int) -> Floats:
    """``rows [point, 1 + outcome, 1 + dimension]``, first the cut of the risk, as rows of cuts in that order."""
    n_points, n_cuts, width = rows.shape
    about = np.broadcast_to(-np.eye(n_cuts), (n_points, n_cuts, 1 + n_outcomes))
    return np.concatenate([rows, about], axis=2).reshape(n_points * n_cuts, width + 1 + n_outcomes)


def rows_of_future(rows: Floats, n_outcomes: int) -> Floats:
    """``rows [cut, 1 + dimension]`` about the future cost itself."""
    about = np.zeros((len(rows), 1 + n_outcomes))
    about[:, 0] = -1.0
    return np.concatenate([rows, about], axis=1)


def cuts_of_future(pool: CutPool, n_outcomes: int) -> CutPool:
    """A pool of the cuts about the future cost itself, which hold without the columns of the outcomes."""
    dimension = pool.state_dimension - 1 - n_outcomes
    chosen = pool.coefficients[:, dimension] == -1.0
    found = CutPool(dimension)
    found.restore(
        pool.rows[chosen, : 1 + dimension],
        pool.active[chosen],
        pool.last_active[chosen],
        pool.active_count[chosen],
        pool.iterations[chosen],
    )
    return found
