"""Risk measures: how the costs of all openings become one number, and one cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import RiskMeasure

Floats = NDArray[np.float64]


def opening_weights(costs: Floats, measure: RiskMeasure) -> Floats:
    """Probabilities ``[point, opening]`` under which the expectation of ``costs`` is their risk.

    Openings are equally likely, ``p`` each. The measure is ``(1 - weight) E + weight CVaR``: every opening keeps
    ``(1 - weight) p``, and ``weight`` is given to the dearest openings, up to ``p / tail`` of it to each, equally dear
    ones in opening order.
    """
    n_points, n_openings = costs.shape
    share = 1.0 / n_openings
    if measure.is_expectation:
        return np.full((n_points, n_openings), share)
    filled = []  # what the k-th dearest opening gets
    left = 1.0
    for _ in range(n_openings):
        in_tail = min(share / measure.tail, left)
        left -= in_tail
        filled.append((1.0 - measure.weight) * share + measure.weight * in_tail)
    weights = np.empty((n_points, n_openings))
    dearest_first = np.argsort(-costs, axis=1, kind="stable")
    np.put_along_axis(weights, dearest_first, np.asarray(filled)[np.newaxis, :], axis=1)
    return weights


def weighted_sum(values: Floats, weights: Floats) -> Floats:
    """``sum over openings of weights[point, opening] * values[point, opening, ...]``, in opening order.

    Added one after the other, never pairwise: the bits must not depend on how points were split over ranks.
    """
    shape = weights.shape + (1,) * (values.ndim - 2)
    terms = values * weights.reshape(shape)
    total: Floats = np.add.accumulate(terms, axis=1)[:, -1]
    return total


def risk_of(costs: Floats, measure: RiskMeasure) -> float:
    """The risk of the costs of all openings of one point."""
    row = costs[np.newaxis, :]
    return float(weighted_sum(row, opening_weights(row, measure))[0])
