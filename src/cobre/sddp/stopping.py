"""Stopping rules: whether an iteration was the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cobre.core.config import (
    BoundStalling,
    Gap,
    IterationLimit,
    SimulationStopping,
    StoppingRule,
    TimeLimit,
    rule_name,
)

TerminationReason = Literal[
    "iteration_limit", "time_limit", "bound_stalling", "simulation", "gap", "shutdown"
]
REASONS: dict[str, str] = {
    "iteration_limit": "the iteration limit was reached",
    "time_limit": "the time limit was reached",
    "bound_stalling": "the lower bound stopped moving",
    "simulation": "simulated costs agree with the bound",
    "gap": "the exact upper bound came near enough to the lower one",
    "shutdown": "stopped on request; the policy can be used",
}
"""What each reason means, for people."""


@dataclass(frozen=True, slots=True)
class RuleState:
    """How near a stopping rule is to ending training."""

    rule: str
    triggered: bool
    detail: str
    share: float | None
    """From 0 to 1, where 1 ends training; None before it is known."""
    values: Mapping[str, Any]
    """The settings of the rule."""


def reason_to_stop(
    rules: Sequence[StoppingRule],
    *,
    need_all: bool,
    limit_is_cap: bool = False,
    lower_bounds: Sequence[float],
    elapsed_s: float,
    simulations_agree: bool = False,
    upper_bound: float | None = None,
) -> TerminationReason | None:
    """Name of the rule that ends training after ``len(lower_bounds)`` iterations, or None to go on.

    With ``need_all`` every rule must agree at the same iteration, and the last one listed gives its name. If the
    ``limit_is_cap``, iteration limits need not agree then, but the largest of them stops in any case. ``upper_bound``
    is the one after that iteration, if it has a true one.
    """
    if need_all and limit_is_cap:
        limits = [rule.limit for rule in rules if isinstance(rule, IterationLimit)]
        if limits and len(lower_bounds) >= max(limits):
            return "iteration_limit"
        rules = [rule for rule in rules if not isinstance(rule, IterationLimit)]
    fired = [_fired(rule, lower_bounds, elapsed_s, simulations_agree, upper_bound) for rule in rules]
    reasons = [reason for reason in fired if reason is not None]
    if need_all:
        return reasons[-1] if rules and len(reasons) == len(rules) else None
    return reasons[0] if reasons else None


def _fired(
    rule: StoppingRule,
    lower_bounds: Sequence[float],
    elapsed_s: float,
    simulations_agree: bool,
    upper_bound: float | None,
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
        case Gap():
            return "gap" if is_closed(rule, lower_bounds[-1], upper_bound) else None


def is_closed(rule: Gap, lower: float, upper: float | None) -> bool:
    """Whether a true upper bound is as near to the lower one as ``rule`` asks for."""
    if upper is None:
        return False
    gap = max(0.0, upper - lower)
    is_near = rule.tolerance is not None and gap <= rule.tolerance
    share = 100.0 * gap / max(1.0, abs(lower))
    return is_near or (rule.relative_tolerance is not None and share <= rule.relative_tolerance)


def _is_stalled(lower_bounds: Sequence[float], window: int, tolerance: float) -> bool:
    """Whether the bound moved by less than ``tolerance`` within the last ``window`` bounds, this one included."""
    moved = _relative_move(lower_bounds, window)
    return moved is not None and moved < tolerance


def _relative_move(lower_bounds: Sequence[float], window: int) -> float | None:
    if window < 1 or len(lower_bounds) < window:
        return None
    now, before = lower_bounds[-1], lower_bounds[-window]
    return abs(now - before) / max(1.0, abs(now))


def rule_states(
    rules: Sequence[StoppingRule],
    lower_bounds: Sequence[float],
    elapsed_s: float,
    *,
    simulations_agree: bool = False,
    upper_bound: float | None = None,
) -> tuple[RuleState, ...]:
    """How near each rule is after ``len(lower_bounds)`` iterations."""
    found = []
    for rule in rules:
        fired = _fired(rule, lower_bounds, elapsed_s, simulations_agree, upper_bound) is not None
        share, detail = _nearness(rule, lower_bounds, elapsed_s, upper_bound)
        found.append(RuleState(rule_name(rule), fired, detail, 1.0 if fired else share, _settings(rule)))
    return tuple(found)


def _settings(rule: StoppingRule) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in rule.__slots__}


def _nearness(
    rule: StoppingRule, lower_bounds: Sequence[float], elapsed_s: float, upper_bound: float | None
) -> tuple[float | None, str]:
    match rule:
        case IterationLimit(limit):
            return min(1.0, len(lower_bounds) / limit), f"{len(lower_bounds)} of {limit} iterations"
        case TimeLimit(seconds):
            return min(1.0, elapsed_s / seconds), f"{elapsed_s:.0f} of {seconds:g} s"
        case BoundStalling(window, tolerance):
            moved = _relative_move(lower_bounds, window)
            if moved is None:
                return None, f"needs {window} bounds, has {len(lower_bounds)}"
            share = 1.0 if moved <= tolerance else tolerance / moved
            return share, f"the bound moved by {moved:.2g} in {window} iterations; ends below {tolerance:g}"
        case SimulationStopping():
            return None, f"checked every {rule.period} iterations"
        case Gap():
            return _nearness_of_gap(rule, lower_bounds[-1], upper_bound)


def _nearness_of_gap(rule: Gap, lower: float, upper: float | None) -> tuple[float | None, str]:
    if upper is None:
        return None, "no true upper bound yet"
    gap = max(0.0, upper - lower)
    percent = 100.0 * gap / max(1.0, abs(lower))
    ends = [f"{rule.tolerance:g} $"] if rule.tolerance is not None else []
    ends += [f"{rule.relative_tolerance:g} %"] if rule.relative_tolerance is not None else []
    shares = [rule.tolerance / gap] if rule.tolerance is not None and gap else []
    shares += [rule.relative_tolerance / percent] if rule.relative_tolerance is not None and gap else []
    text = f"the gap is {gap:.6g} $ ({percent:.2g} %); ends at {' or '.join(ends)}"
    return min(1.0, max(shares, default=1.0)), text


def time_limit(rules: Sequence[StoppingRule]) -> float | None:
    """The smallest time limit among the rules in seconds, if any."""
    return min((rule.seconds for rule in rules if isinstance(rule, TimeLimit)), default=None)


def iteration_limit(rules: Sequence[StoppingRule]) -> int | None:
    """The smallest iteration limit among the rules, if any: what progress is measured against."""
    limits = [rule.limit for rule in rules if isinstance(rule, IterationLimit)]
    return min(limits) if limits else None
