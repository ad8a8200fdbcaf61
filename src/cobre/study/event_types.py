"""The events of a run as a JSON Schema: `cobre schema export` writes it as ``event.schema.json``.

Within a version fields are only added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["EVENT_FIELDS", "SCHEMA_ID", "event_schema"]

SCHEMA_ID = "urn:cobre:event:v1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Mapping[str, Any] = {"type": "string"}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
NUMBER: Mapping[str, Any] = {"type": "number"}
MS: Mapping[str, Any] = {"type": "integer", "minimum": 0, "description": "milliseconds"}
OBJECT: Mapping[str, Any] = {"type": "object"}
FLAG: Mapping[str, Any] = {"type": "boolean"}
PHASE: Mapping[str, Any] = {"enum": ["training", "simulation"]}
THREADS: Mapping[str, Any] = {
    "anyOf": [COUNT, {"const": "auto"}],
    "description": "auto: each rank takes the processors that are free; metadata.json has the number",
}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(schema), {"type": "null"}]}


def _list_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(schema)}


def _object_of(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    properties = {name: dict(schema) for name, schema in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


RULE = _object_of(
    {"rule": TEXT, "triggered": FLAG, "detail": TEXT, "share": _or_null(NUMBER), "values": OBJECT}
)
GAP_ESTIMATE = _object_of(
    {
        "status": TEXT,
        "mean_cost": _or_null(NUMBER),
        "half_width": _or_null(NUMBER),
        "trajectories": COUNT,
        "iterations": COUNT,
        "gap": _or_null(NUMBER),
        "largest_gap": _or_null(NUMBER),
    }
)
TRAINING_PROGRESS = {
    "phase": {"const": "training"},
    "iteration": COUNT,
    "iteration_limit": _or_null(COUNT),
    "lower_bound": _or_null(NUMBER),
    "upper_bound": _or_null(NUMBER),
    "upper_bound_std": _or_null(NUMBER),
    "ci_95": _or_null(NUMBER),
    "gap": _or_null(NUMBER),
    "gap_estimate": _or_null(GAP_ESTIMATE),
    "wall_time_ms": MS,
    "iteration_time_ms": MS,
}
SIMULATION_PROGRESS = {
    "phase": {"const": "simulation"},
    "scenarios_complete": COUNT,
    "scenarios_total": COUNT,
    "elapsed_ms": MS,
}
EVENT_FIELDS: Mapping[str, tuple[Mapping[str, Mapping[str, Any]], ...]] = {
    "started": (
        {
            "$schema": {"const": SCHEMA_ID},
            "run_id": TEXT,
            "case": TEXT,
            "stages": COUNT,
            "hydros": COUNT,
            "thermals": COUNT,
            "buses": COUNT,
            "lines": COUNT,
            "ranks": COUNT,
            "threads_per_rank": THREADS,
            "backend": TEXT,
            "phases": _list_of(PHASE),
            "resumed_from": _or_null(COUNT),
            "timestamp": TEXT,
            "cobre_version": TEXT,
        },
    ),
    "progress": (TRAINING_PROGRESS, SIMULATION_PROGRESS),
    "iteration": (
        {
            "iteration": COUNT,
            **dict.fromkeys(
                (
                    "forward_ms",
                    "backward_ms",
                    "selection_ms",
                    "bound_ms",
                    "forward_sync_ms",
                    "cut_sync_ms",
                    "other_ms",
                    "solver_ms",
                    "move_ms",
                    "wait_ms",
                ),
                MS,
            ),
            "lp_solves": COUNT,
            "simplex_iterations": COUNT,
            "cuts_added": COUNT,
            "cuts_removed": COUNT,
            "cuts_active": COUNT,
            "cuts_total": COUNT,
            "cuts_per_stage": _list_of(COUNT),
            "memory_mb": NUMBER,
            "peak_memory_mb": NUMBER,
            "cuts_memory_mb": NUMBER,
            "rules": _list_of(RULE),
        },
    ),
    "checkpoint": ({"iteration": COUNT, "path": TEXT, "time_ms": MS},),
    "control": (
        {
            "action": {"enum": ["pause", "resume", "stop", "snapshot", "set_rule"]},
            "arguments": OBJECT,
            "phase": PHASE,
            "iteration": _or_null(COUNT),
            "timestamp": TEXT,
            "outcome": OBJECT,
            "error": _or_null(TEXT),
        },
    ),
    "warning": ({"message": TEXT},),
    "terminated": (
        {
            "reason": TEXT,
            "iterations": COUNT,
            "final_lb": _or_null(NUMBER),
            "final_ub": _or_null(NUMBER),
            "total_time_ms": MS,
            "total_cuts": COUNT,
        },
    ),
    "simulation_finished": (
        {
            "scenarios": COUNT,
            "scenarios_total": COUNT,
            "mean_cost": _or_null(NUMBER),
            "std_cost": _or_null(NUMBER),
            "elapsed_ms": MS,
        },
    ),
    "finished": (
        {"status": {"enum": ["complete", "partial", "failed"]}, "error": _or_null(OBJECT), "timestamp": TEXT},
    ),
    "result": (
        {
            "$schema": {"const": "urn:cobre:response:v1"},
            "command": TEXT,
            "success": FLAG,
            "exit_code": COUNT,
            "cobre_version": TEXT,
            "errors": _list_of(OBJECT),
            "warnings": _list_of(OBJECT),
            "data": {"type": ["object", "null"]},
            "summary": TEXT,
        },
    ),
}
"""Fields of each type of event beside ``type`` and ``seq``; several tuples are alternatives.

``result`` is the last line of ``--output-format json-lines``; the file of a run has ``finished`` as its last.
"""


def event_schema() -> dict[str, Any]:
    """What every line of ``events.jsonl`` and of ``--output-format json-lines`` satisfies."""
    variants = [
        _object_of({"type": {"const": name}, "seq": {"type": "integer", "minimum": 1}, **fields})
        for name, alternatives in EVENT_FIELDS.items()
        for fields in alternatives
    ]
    return {"$schema": DIALECT, "$id": SCHEMA_ID, "title": "An event of a run", "oneOf": variants}
