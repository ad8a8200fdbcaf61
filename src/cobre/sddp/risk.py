"""Risk measures: how the costs of all openings become one number, and one cut."""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import OwnRiskMeasure, RiskMeasure
from cobre.errors import ValidationError


def opening_weights(
    costs: Floats, measure: RiskMeasure | OwnRiskMeasure, probabilities: Floats | None = None
) -> Floats:
    """Probabilities ``[point, opening]`` under which the expectation of ``costs`` is their risk.

    One row for all points where it is the expectation itself.
    Opening ``k`` has the probability ``p[k]``; without ``probabilities`` they are all equal. A `RiskMeasure` is
    ``(1 - weight) E + weight CVaR``: every opening keeps ``(1 - weight) p[k]``, and ``weight`` is given to the dearest
    openings, up to ``p[k] / tail`` of it to each, equally dear ones in opening order.
    """
    n_openings = costs.shape[1]
    each = np.full(n_openings, 1.0 / n_openings) if probabilities is None else probabilities
    if measure.is_expectation:
        return each[np.newaxis, :]
    if not isinstance(measure, RiskMeasure):
        return _checked(np.asarray(measure.opening_weights(costs, each), np.float64), costs, measure)
    dearest_first = np.argsort(-costs, axis=1, kind="stable")
    share = each[dearest_first]
    left = np.ones(len(costs))
    filled = np.empty_like(costs)  # what the k-th dearest opening gets
    for k in range(n_openings):
        in_tail = np.minimum(share[:, k] / measure.tail, left)
        left -= in_tail
        filled[:, k] = (1.0 - measure.weight) * share[:, k] + measure.weight * in_tail
    weights = np.empty_like(costs)
    np.put_along_axis(weights, dearest_first, filled, axis=1)
    return weights


def _checked(weights: Floats, costs: Floats, measure: OwnRiskMeasure) -> Floats:
    """What a program gave, if it has a row for each point or one for all of them."""
    if weights.shape not in (costs.shape, (1, costs.shape[1])):
        raise ValidationError(
            f"the risk measure {type(measure).__name__} gave weights of the shape {weights.shape} for costs "
            f"[point, opening], not {costs.shape}",
            kind="IncompatibleSettings",
            context={"measure": type(measure).__name__},
            suggestion="have opening_weights return an array like costs",
        )
    return weights


def weighted_sum(values: Floats, weights: Floats) -> Floats:
    """``sum over openings of weights[point, opening] * values[point, opening, ...]``, in opening order.

    Added one after the other, never pairwise: the bits must not depend on how points were split over ranks.
    """
    shape = weights.shape + (1,) * (values.ndim - 2)
    terms = values * weights.reshape(shape)
    total: Floats = np.add.accumulate(terms, axis=1)[:, -1]
    return total


def risk_of(
    costs: Floats, measure: RiskMeasure | OwnRiskMeasure, probabilities: Floats | None = None
) -> float:
    """The risk of the costs of all openings of one point."""
    row = costs[np.newaxis, :]
    return float(weighted_sum(row, opening_weights(row, measure, probabilities))[0])
