"""The gap between the lower bound and the cost of the policy, estimated from sampled trajectories.

A single iteration samples too few trajectories for that: their mean may lie far below the bound by chance. So the
trajectories of the last iterations are taken together, with the confidence interval of their mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cobre.core.case import Case
from cobre.core.sums import sum_in_order
from cobre.sddp.bounds import relative_gap

GapStatus = Literal["within", "not_yet", "above", "one_trajectory", "risk_adjusted", "other_scenarios"]
Comparison = Literal["exact", "sampled", "risk_adjusted", "other_scenarios"]

WANTED_TRAJECTORIES = 100
"""So many of the last trajectories are taken together, but never those of more than half of the iterations."""

ROUNDING = 1e-9
"""Relative difference of two costs that is rounding noise of the solver."""

T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Half-width of 95 % of Student's distribution with 1, 2, … degrees of freedom."""
Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class GapEstimate:
    """The estimate of the gap after an iteration.

    ``status`` says where the lower bound lies: ``within`` the interval around the mean cost, ``not_yet`` (below it), or
    ``above`` it, which tells that the sample is too small. Or it says why the two are not compared: there is only
    ``one_trajectory``, the bound is ``risk_adjusted`` and the mean is not, or trajectories follow ``other_scenarios``
    than the openings that the bound is about.
    """

    status: GapStatus
    mean_cost: float
    """Over the trajectories of the last iterations."""
    half_width: float
    """Of the 95 % confidence interval of the mean; 0 where the cost is exact."""
    trajectories: int
    iterations: int
    """How many of the last iterations those trajectories are from."""
    gap: float | None = None
    """From the lower bound to the mean, relative; None if the sample is too small, or does not tell it from 0."""
    largest_gap: float | None = None
    """From the lower bound to the upper end of the interval, relative."""


def comparison_of(case: Case) -> Comparison:
    """How the bound of a study and the costs of its trajectories compare."""
    is_in_sample = case.config.training.scenario_source.is_in_sample
    stages = case.horizon.stages
    graph = case.horizon.policy_graph
    if case.config.training.is_enumerated:
        return "exact"  # the whole tree, with its risk
    if is_in_sample and graph.is_chain and all(stage.n_openings == 1 for stage in stages):
        return "exact"  # there is one trajectory, and every iteration runs it
    if not all(stage.risk.is_expectation for stage in stages[:-1]):
        return "risk_adjusted"
    return "sampled" if is_in_sample else "other_scenarios"


class _Sample(NamedTuple):
    """Mean, half-width of its interval, and from how many trajectories of how many iterations."""

    mean_cost: float
    half_width: float
    trajectories: int
    iterations: int


def estimate_gap(
    lower_bound: float,
    means: Sequence[float],
    deviations: Sequence[float],
    n_trajectories: int,
    comparison: Comparison,
) -> GapEstimate:
    """The estimate after the last iteration; ``means`` and ``deviations`` are those of all iterations so far.

    Each iteration samples ``n_trajectories``.
    """
    if comparison == "exact":
        return _compare(lower_bound, _Sample(means[-1], 0.0, 1, 1))
    used = max(1, min(len(means) // 2, math.ceil(WANTED_TRAJECTORIES / n_trajectories)))
    sample = _pool(means[-used:], deviations[-used:], n_trajectories)
    if comparison != "sampled":
        return GapEstimate(comparison, *sample)
    if sample.trajectories == 1:
        return GapEstimate("one_trajectory", *sample)
    if lower_bound > sample.mean_cost + sample.half_width + _noise(sample.mean_cost):
        return GapEstimate("above", *sample)
    return _compare(lower_bound, sample)


def _pool(means: Sequence[float], deviations: Sequence[float], n: int) -> _Sample:
    """All trajectories of some iterations with ``n`` each."""
    total = len(means) * n
    mean = sum_in_order(means) / len(means)
    if total == 1:
        return _Sample(mean, 0.0, 1, 1)
    squares = sum_in_order([(n - 1) * each * each for each in deviations])
    squares += n * sum_in_order([(each - mean) * (each - mean) for each in means])
    half_width = _student(total - 1) * math.sqrt(squares / (total - 1) / total)
    return _Sample(mean, half_width, total, len(means))


def _compare(lower_bound: float, sample: _Sample) -> GapEstimate:
    is_within = lower_bound >= sample.mean_cost - sample.half_width - _noise(sample.mean_cost)
    is_told = not is_within or sample.half_width == 0.0
    return GapEstimate(
        "within" if is_within else "not_yet",
        *sample,
        gap=relative_gap(lower_bound, sample.mean_cost) if is_told else None,
        largest_gap=relative_gap(lower_bound, sample.mean_cost + sample.half_width),
    )


def _noise(cost: float) -> float:
    return ROUNDING * max(1.0, abs(cost))


def _student(freedom: int) -> float:
    """Half-width of 95 % of Student's distribution, right to three digits."""
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    z = Z_95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
