"""What a case pays for leaving its limits: the file ``penalties.json`` of studies that tests write."""

from __future__ import annotations

from typing import Any

VIOLATIONS = (
    "storage_violation_below_cost",
    "filling_target_violation_cost",
    "turbined_violation_below_cost",
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "generation_violation_below_cost",
    "evaporation_violation_cost",
    "water_withdrawal_violation_cost",
)


def penalties(
    violations: tuple[float, ...] | float,
    *,
    excess: float,
    exchange: float,
    curtailment: float,
    **hydro: float,
) -> dict[str, Any]:
    """Costs of ``violations`` in the order of VIOLATIONS, or one for all; ``hydro`` has further costs of hydros."""
    costs = violations if isinstance(violations, tuple) else (violations,) * len(VIOLATIONS)
    return {
        "bus": {"deficit_segments": [{"depth_mw": None, "cost": 1000.0}], "excess_cost": excess},
        "line": {"exchange_cost": exchange},
        "hydro": {**dict(zip(VIOLATIONS, costs, strict=True)), **hydro},
        "non_controllable_source": {"curtailment_cost": curtailment},
    }
