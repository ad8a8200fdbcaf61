"""Events as plain data, ready for JSON: whole milliseconds, and null instead of what is no number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from cobre.sddp.events import CheckpointSaved, ControlTaken, Detail, IterationFacts, ProgressEvent, RunWarning
from cobre.sddp.gap import GapEstimate
from cobre.sddp.result import IterationRecord, TrainingResult
from cobre.sddp.stopping import RuleState

__all__ = ["detail_fields", "progress_fields", "record_fields", "terminated_fields"]

ITERATION_FIELDS = tuple(part.name for part in fields(IterationFacts))
RULE_FIELDS = tuple(part.name for part in fields(RuleState))
GAP_FIELDS = tuple(part.name for part in fields(GapEstimate))


def progress_fields(event: ProgressEvent) -> dict[str, Any]:
    """The event ``progress`` after one iteration, or after some scenarios of a simulation."""
    if event.phase == "simulation":
        return {
            "phase": event.phase,
            "scenarios_complete": event.scenarios_complete,
            "scenarios_total": event.scenarios_total,
            "elapsed_ms": round(event.wall_time_ms),
        }
    names = ("lower_bound", "upper_bound", "upper_bound_std", "ci_95", "gap")
    return {
        "phase": event.phase,
        "iteration": event.iteration,
        "iteration_limit": event.iteration_limit,
        **{name: plain(getattr(event, name)) for name in names},
        "gap_estimate": None if event.gap_estimate is None else _gap_fields(event.gap_estimate),
        "wall_time_ms": round(event.wall_time_ms),
        "iteration_time_ms": round(event.iteration_time_ms or 0.0),
    }


def _gap_fields(estimate: GapEstimate) -> dict[str, Any]:
    return {name: plain(getattr(estimate, name)) for name in GAP_FIELDS}


def record_fields(record: IterationRecord) -> dict[str, Any]:
    """The same for an iteration of the part of the run that a checkpoint kept."""
    names = ("lower_bound", "upper_bound", "upper_bound_std", "ci_95", "gap")
    return {
        "phase": "training",
        "iteration": record.iteration,
        "iteration_limit": None,
        **{name: plain(getattr(record, name)) for name in names},
        "gap_estimate": None,
        "wall_time_ms": round(record.wall_time_ms),
        "iteration_time_ms": round(record.iteration_time_ms),
    }


def detail_fields(detail: Detail) -> tuple[str, dict[str, Any]]:
    """The type of the event and its fields."""
    match detail:
        case IterationFacts():
            return "iteration", _iteration_fields(detail)
        case CheckpointSaved(iteration, path, time_ms):
            return "checkpoint", {"iteration": iteration, "path": path, "time_ms": round(time_ms)}
        case ControlTaken():
            return "control", plain(asdict(detail))
        case RunWarning(message):
            return "warning", {"message": message}


def _iteration_fields(facts: IterationFacts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ITERATION_FIELDS:
        value = getattr(facts, name)
        if name.endswith("_ms"):
            value = round(value)
        elif name.endswith("_mb"):
            value = round(value, 3)
        elif name == "rules":
            value = [{field: plain(getattr(rule, field)) for field in RULE_FIELDS} for rule in value]
        elif name == "cuts_per_stage":
            value = list(value)
        found[name] = value
    return found


def terminated_fields(result: TrainingResult) -> dict[str, Any]:
    """The event ``terminated``: training has ended."""
    return {
        "reason": result.termination_reason,
        "iterations": result.iterations,
        "final_lb": plain(result.final_lower_bound),
        "final_ub": plain(result.final_upper_bound),
        "total_time_ms": round(result.history["wall_time_ms"][-1]),
        "total_cuts": result.total_cuts,
    }


def plain(value: Any) -> Any:
    """``value`` as JSON can hold it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value
