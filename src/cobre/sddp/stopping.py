"""Stopping rules: when an iteration was the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cobre.core.config import BoundStalling, IterationLimit, SimulationStopping, StoppingRule, TimeLimit

TerminationReason = Literal["iteration_limit", "time_limit", "bound_stalling", "simulation", "shutdown"]


def reason_to_stop(
    rules: Sequence[StoppingRule],
    *,
    need_all: bool,
    lower_bounds: Sequence[float],
    elapsed_s: float,
    simulations_agree: bool = False,
) -> TerminationReason | None:
    """Name of the rule that ends training after ``len(lower_bounds)`` iterations, or None to go on.

    With ``need_all`` every rule must agree at the same iteration, and the last one listed gives its name.
    """
    fired = [_fired(rule, lower_bounds, elapsed_s, simulations_agree) for rule in rules]
    reasons = [reason for reason in fired if reason is not None]
    if need_all:
        return reasons[-1] if rules and len(reasons) == len(rules) else None
    return reasons[0] if reasons else None


def _fired(
    rule: StoppingRule, lower_bounds: Sequence[float], elapsed_s: float, simulations_agree: bool
) -> TerminationReason | None:
    match rule:
        case IterationLimit(limit):
            return "iteration_limit" if len(lower_bounds) >= limit else None
        case TimeLimit(seconds):
            return "time_limit" if elapsed_s >= seconds else None
        case BoundStalling(window, tolerance):
            return "bound_stalling" if _is_stalled(lower_bounds, window, tolerance) else None
        case SimulationStopping():
            return "simulation" if simulations_agree else None


def _is_stalled(lower_bounds: Sequence[float], window: int, tolerance: float) -> bool:
    """Whether the bound moved by less than ``tolerance`` within the last ``window`` bounds, this one included."""
    if window < 1 or len(lower_bounds) < window:
        return False
    now, before = lower_bounds[-1], lower_bounds[-window]
    return abs(now - before) / max(1.0, abs(now)) < tolerance


def iteration_limit(rules: Sequence[StoppingRule]) -> int | None:
    """The smallest iteration limit among the rules, if any: what progress is measured against."""
    limits = [rule.limit for rule in rules if isinstance(rule, IterationLimit)]
    return min(limits) if limits else None
