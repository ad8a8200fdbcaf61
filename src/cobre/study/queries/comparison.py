"""Two runs, or several policies, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from cobre.sddp.policy import Policy
from cobre.sddp.policy_tools import unlike
from cobre.study.queries.runs import RunData
from cobre.study.results import Results, load_results

__all__ = ["compare_policies", "compare_runs", "difference"]

CALENDAR_FIELDS = ("stages", "start_dates")
"""Where these differ, numbers by stage cannot be compared."""
TRAINING_FIELDS = ("iterations", "final_lower_bound", "final_upper_bound", "final_gap", "total_cuts")
SIMULATION_FIELDS = ("mean_cost", "std_cost", "min_cost", "max_cost", "cvar_95")


def difference(a: object, b: object) -> dict[str, float | None]:
    """Both values, the second minus the first, and that as a percentage of the first."""
    first, second = _number(a), _number(b)
    delta = None if first is None or second is None else second - first
    percent = None if delta is None or not first else 100.0 * delta / abs(first)
    return {"a": first, "b": second, "delta": delta, "delta_pct": percent}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(float(value)) else None  # type: ignore[arg-type]


def compare_runs(a: str | PathLike[str], b: str | PathLike[str]) -> dict[str, Any]:
    """Training, simulation and costs of two runs; ``differences`` says what else is not the same."""
    first, second = load_results(a), load_results(b)
    differences = run_differences(first, second)
    return {
        "compatible": not any(each["field"] in CALENDAR_FIELDS for each in differences),
        "differences": differences,
        "training": _fields(TRAINING_FIELDS, _training(first), _training(second)),
        "simulation": _fields(SIMULATION_FIELDS, _statistics(first), _statistics(second)),
        "costs": _costs(first, second),
    }


def run_differences(a: Results, b: Results) -> list[dict[str, Any]]:
    """Fields in which two runs are about different things: stages, data of the case, source of the noise."""
    runs = (RunData(a), RunData(b))
    values: dict[str, tuple[Any, Any]] = {
        "stages": (runs[0].stages, runs[1].stages),
        "start_dates": (runs[0].start_dates, runs[1].start_dates),
        "case_digest": (_metadata(a).get("case_digest"), _metadata(b).get("case_digest")),
    }
    if a.simulation is not None and b.simulation is not None:
        values["scenarios"] = (a.simulation.scenarios, b.simulation.scenarios)
        sources = [each.simulation.metadata.get("scenario_source") for each in (a, b) if each.simulation]
        values["scenario_source"] = (sources[0], sources[1])
    return [
        {"field": field, "run_a_value": _short(one), "run_b_value": _short(other)}
        for field, (one, other) in values.items()
        if one != other and one not in (None, []) and other not in (None, [])
    ]


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return f"{len(value)} values from {value[0]} to {value[-1]}"
    return value


def _metadata(results: Results) -> Mapping[str, Any]:
    if results.training is not None:
        return results.training.metadata
    return {} if results.simulation is None else results.simulation.metadata


def _training(results: Results) -> Mapping[str, Any]:
    return {} if results.training is None else results.training.metadata


def _statistics(results: Results) -> Mapping[str, Any]:
    if results.simulation is None or not results.simulation.is_complete:
        return {}
    return results.simulation.statistics


def _fields(
    names: Sequence[str], a: Mapping[str, Any], b: Mapping[str, Any]
) -> dict[str, dict[str, float | None]] | None:
    if not a and not b:
        return None
    return {name: difference(a.get(name), b.get(name)) for name in names if name in a or name in b}


def _costs(a: Results, b: Results) -> list[dict[str, Any]]:
    """Mean over scenarios of each part of the cost, without discounting, the largest difference first."""
    means = [_mean_costs(each) for each in (a, b)]
    rows = [
        {"category": category, **difference(means[0].get(category, 0.0), means[1].get(category, 0.0))}
        for category in dict.fromkeys([*means[0], *means[1]])
    ]
    changed = [row for row in rows if row["a"] or row["b"]]
    return sorted(changed, key=lambda row: (-abs(float(row["delta"] or 0.0)), str(row["category"])))


def _mean_costs(results: Results) -> dict[str, float]:
    categories = _statistics(results).get("categories") or {}
    return {name: float(each["mean"]) for name, each in categories.items()}


def compare_policies(policies: Sequence[tuple[str, Policy]]) -> dict[str, Any]:
    """Sizes of policies and how many cuts of the first each of the others has."""
    first = policies[0][1]
    rows = []
    for name, policy in policies:
        alike = not unlike(first, policy)
        counts = policy.summary()
        rows.append(
            {
                "policy": name,
                "stages": counts["stages"],
                "state_dimension": counts["state_dimension"],
                "total_cuts": counts["total_cuts"],
                "active_cuts": counts["active_cuts"],
                "compatible_with_first": alike,
                "cuts_shared_with_first": _shared(first, policy) if alike else None,
                "same_study_as_first": dict(policy.identity) == dict(first.identity),
            }
        )
    return {"policies": rows, "compatible": all(row["compatible_with_first"] for row in rows)}


def _shared(first: Policy, other: Policy) -> int:
    table = first.compare(other)
    return int(sum(table["in_both"].to_pylist()))
