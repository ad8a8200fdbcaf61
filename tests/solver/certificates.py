"""Optimality conditions of a solved program, checked from its numbers alone."""

from __future__ import annotations

import numpy as np

from cobre.solver import BatchOutput, LpSolver

TOLERANCE = 1e-7


def certify(solver: LpSolver, output: BatchOutput, index: int) -> None:
    """Assert that solve ``index``, the last that ``solver`` made, is optimal.

    ``output`` must hold everything. Primal and dual values that are feasible and complementary prove each other.
    """
    model = solver.patched_model()
    x, d = output.primal[index], output.reduced_cost[index]
    active = solver.cuts()[2]
    y = np.concatenate([output.dual[index], output.cut_dual[index][active]])
    gradient = model.column_cost.copy()
    size = 1.0 + np.abs(model.column_cost)
    activity = np.zeros(len(y))
    scale = np.ones(len(y))
    for row, (columns, values) in enumerate(model.rows):
        gradient[columns] -= y[row] * values
        size[columns] += np.abs(y[row] * values)
        activity[row] = np.sum(values * x[columns])
        scale[row] += np.sum(np.abs(values * x[columns]))
    assert np.all(np.abs(gradient - d) <= TOLERANCE * size), "the reduced costs are not those of the duals"
    _check_side(x, model.column_lower, model.column_upper, d, 1.0 + np.abs(x), size)
    _check_side(activity, model.row_lower, model.row_upper, y, scale, 1.0 + np.abs(y))


def _check_side(value, lower, upper, price, scale, price_scale) -> None:
    assert np.all(value >= lower - TOLERANCE * scale), "a lower bound is violated"
    assert np.all(value <= upper + TOLERANCE * scale), "an upper bound is violated"
    is_dear = price > TOLERANCE * price_scale
    is_cheap = price < -TOLERANCE * price_scale
    assert np.all(value[is_dear] <= lower[is_dear] + TOLERANCE * scale[is_dear]), "away from a lower bound"
    assert np.all(value[is_cheap] >= upper[is_cheap] - TOLERANCE * scale[is_cheap]), (
        "away from an upper bound"
    )
