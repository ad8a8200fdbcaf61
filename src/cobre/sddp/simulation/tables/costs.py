"""What each stage costs, and for what. One row per stage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.simulation.outcome import Floats, StageOutcome, sum_in_order
from cobre.sddp.simulation.tables.network import pumping_charges
from cobre.sddp.simulation.tables.sources import curtailment_charges


def cost_rows(outcome: StageOutcome) -> dict[str, NDArray[np.generic]]:
    """The cost of the stage by kind; `immediate_cost` has its own definition, so that the parts are a check of it."""
    view, columns = outcome.view, outcome.view.problem.columns
    hydro, network = columns.hydro, columns.network
    n = len(outcome)
    future = view.scope.stage.discount * outcome.values(np.array([columns.state.future_cost]))[:, 0]
    violations = {
        "outflow_violation_below_cost": outcome.cost(hydro.outflow_below),
        "outflow_violation_above_cost": outcome.cost(hydro.outflow_above),
        "turbined_violation_cost": outcome.cost(hydro.turbined_below),
        "generation_violation_cost": outcome.cost(hydro.generation_below),
        "evaporation_violation_cost": outcome.cost(hydro.evaporation_above, hydro.evaporation_below),
        "withdrawal_violation_cost": outcome.cost(hydro.withdrawal_above, hydro.withdrawal_below),
    }
    values: dict[str, Floats] = {
        "total_cost": outcome.objective,
        "immediate_cost": outcome.objective - future,
        "future_cost": future,
        "discount_factor": np.full(n, view.discount_factor),
        "thermal_cost": outcome.cost(network.thermal),
        "anticipated_thermal_cost": np.zeros(n),
        "contract_cost": outcome.cost(network.contract),
        "deficit_cost": outcome.cost(network.deficit),
        "excess_cost": outcome.cost(network.excess),
        "storage_violation_cost": np.zeros(n),
        "filling_target_cost": np.zeros(n),
        "hydro_violation_cost": sum_in_order(np.stack(list(violations.values()), axis=1)),
        **violations,
        "inflow_penalty_cost": outcome.cost(hydro.negative_inflow),
        "generic_violation_cost": outcome.cost(columns.constraint.above, columns.constraint.below),
        "spillage_cost": outcome.cost(hydro.spillage, hydro.diversion),
        "turbined_cost": outcome.cost(hydro.turbined),
        "curtailment_cost": sum_in_order(curtailment_charges(outcome).reshape(n, -1)),
        "exchange_cost": outcome.cost(network.line_direct, network.line_reverse),
        "pumping_cost": sum_in_order(pumping_charges(outcome).reshape(n, -1)),
    }
    return {"block_id": np.array([np.nan]), **{name: value[:, np.newaxis] for name, value in values.items()}}
