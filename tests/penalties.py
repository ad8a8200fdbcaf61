"""What a case pays for leaving its limits: the file ``penalties.json`` of studies that tests write."""

from __future__ import annotations

from typing import Any

from cobre.io.validate import prices

VIOLATIONS = ("storage_violation_below_cost", "filling_target_violation_cost", *prices.VIOLATIONS)


def penalties(
    violations: tuple[float, ...] | float,
    others: tuple[float, float, float],
    *,
    spillage_cost: float = 0.01,
    diversion_cost: float = 0.1,
    **hydro: float,
) -> dict[str, Any]:
    """Costs of ``violations`` in the order of VIOLATIONS, or one for all; ``hydro`` has further costs of hydros.

    ``others`` are those of excess at a bus, of exchange over a line and of curtailment.
    """
    excess, exchange, curtailment = others
    costs = violations if isinstance(violations, tuple) else (violations,) * len(VIOLATIONS)
    return {
        "bus": {"deficit_segments": [{"depth_mw": None, "cost": 1000.0}], "excess_cost": excess},
        "line": {"exchange_cost": exchange},
        "hydro": {
            **dict(zip(VIOLATIONS, costs, strict=True)),
            "spillage_cost": spillage_cost,
            "diversion_cost": diversion_cost,
            **hydro,
        },
        "non_controllable_source": {"curtailment_cost": curtailment},
    }
