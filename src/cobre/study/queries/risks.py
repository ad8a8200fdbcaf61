"""Probability and depth of deficits, and how often water is spilled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import RiskMeasure
from cobre.sddp.risk import risk_of
from cobre.study.queries.fans import mean_of

THRESHOLDS = (0.0, 0.01, 0.05, 0.1)
"""Shares of the demand."""
NEGLIGIBLE = 1e-9
"""A smaller share of the demand is rounding."""
TAIL = 0.05


@dataclass(frozen=True)
class DeficitRisk:
    """Of one bus (or all) in one period."""

    probabilities: tuple[float, ...]
    """Share of scenarios with a deficit above each of `THRESHOLDS`."""
    mean_mwh: float
    mean_share: float
    """Deficit over demand, of the scenarios with a deficit; 0 without any."""
    cvar_mwh: float
    """Mean deficit of the worst twentieth of the scenarios."""


def deficit_risk(deficit_mwh: Floats, load_mwh: Floats, weights: Floats | None = None) -> DeficitRisk:
    """From ``[scenario]``: deficit and demand of the period, and probabilities if they differ."""
    shares = np.divide(deficit_mwh, load_mwh, out=np.zeros_like(deficit_mwh), where=load_mwh > 0.0)
    is_short = shares > NEGLIGIBLE
    depth = shares[is_short]
    return DeficitRisk(
        tuple(float(mean_of(shares > max(threshold, NEGLIGIBLE), weights)) for threshold in THRESHOLDS),
        float(mean_of(deficit_mwh, weights)),
        float(np.average(depth, weights=None if weights is None else weights[is_short]))
        if len(depth)
        else 0.0,
        _mean_of_tail(deficit_mwh, weights),
    )


def _mean_of_tail(values: Floats, weights: Floats | None) -> float:
    """Of the worst scenarios that make up `TAIL`."""
    if weights is not None:
        return risk_of(values, RiskMeasure(1.0, TAIL), weights)
    n = len(values)
    n_worst = max(1, n - math.floor((1.0 - TAIL) * n))
    return float(np.sort(values)[n - n_worst :].mean())


def years_of(start_dates: Sequence[str]) -> dict[str, list[int]]:
    """Places of the stages that begin in each year."""
    found: dict[str, list[int]] = {}
    for place, date in enumerate(start_dates):
        found.setdefault(date[:4], []).append(place)
    return found
