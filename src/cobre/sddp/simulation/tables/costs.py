"""What each stage costs, and for what. One row per stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.core.simulation_tables import COSTS
from cobre.sddp.simulation.outcome import StageOutcome, StageView, sum_in_order, sum_of, taken
from cobre.sddp.simulation.tables.network import pumping_charges
from cobre.sddp.simulation.tables.sources import curtailment_charges
from cobre.sddp.subproblem.builder import ABSENT

HYDRO_VIOLATIONS = (
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "turbined_violation_cost",
    "generation_violation_cost",
    "evaporation_violation_cost",
    "withdrawal_violation_cost",
)


KINDS = tuple(column.name for column in COSTS if column.name.endswith("_cost"))
NOTHING = np.zeros(1)
"""``[row]``: a cost that no scenario of the stage has."""


@dataclass(frozen=True, eq=False)
class PricedColumns:
    """The columns of the stage's program that a cost is paid for, kind after kind."""

    columns: Indices
    prices: Floats
    of_kind: dict[str, slice]
    """Where the columns of each kind of cost are among all of them; kinds without columns are missing."""


def cost_rows(outcome: StageOutcome) -> dict[str, NDArray[np.generic]]:
    """The cost of the stage by kind; `immediate_cost` has its own definition, so that the parts are a check of it."""
    view, n = outcome.view, len(outcome)
    future = view.scope.stage.discount * outcome.values(view.once(_future_cost))[:, 0]
    paid = _paid(outcome)
    violations = sum_of([paid.get(kind, NOTHING) for kind in HYDRO_VIOLATIONS])
    values: dict[str, Floats] = {
        "total_cost": outcome.objective,
        "immediate_cost": outcome.objective - future,
        "future_cost": future,
        "discount_factor": np.full(n, view.discount_factor),
        **paid,
    }
    if any(kind in paid for kind in HYDRO_VIOLATIONS):
        values["hydro_violation_cost"] = violations
    return {
        "block_id": np.array([np.nan]),
        **dict.fromkeys(KINDS, NOTHING),
        **{name: value[:, np.newaxis] for name, value in values.items()},
    }


def _paid(outcome: StageOutcome) -> dict[str, Floats]:
    """``[n]``: what is paid for each kind of cost that the stage has."""
    system, priced = outcome.view.scope.system, outcome.view.once(_priced_columns)
    charges = taken(outcome.primal, priced.columns) * priced.prices
    paid = {kind: sum_in_order(charges[:, place]) for kind, place in priced.of_kind.items()}
    for kind, find, payers in (
        ("curtailment_cost", curtailment_charges, system.non_controllables),
        ("pumping_cost", pumping_charges, system.pumping_stations),
    ):
        if payers:
            paid[kind] = sum_in_order(outcome.once(find).reshape(len(outcome), -1))
    return paid


def _future_cost(view: StageView) -> Indices:
    return np.array([view.problem.columns.state.future_cost])


def _priced_columns(view: StageView) -> PricedColumns:
    columns = view.problem.columns
    hydro, network = columns.hydro, columns.network
    groups: dict[str, tuple[Indices, ...]] = {
        "outflow_violation_below_cost": (hydro.outflow_below,),
        "outflow_violation_above_cost": (hydro.outflow_above,),
        "turbined_violation_cost": (hydro.turbined_below,),
        "generation_violation_cost": (hydro.generation_below,),
        "evaporation_violation_cost": (hydro.evaporation_above, hydro.evaporation_below),
        "withdrawal_violation_cost": (hydro.withdrawal_above, hydro.withdrawal_below),
        "storage_violation_cost": (hydro.storage_below,),
        "filling_target_cost": (hydro.filling_below,),
        "thermal_cost": (network.thermal,),
        "anticipated_thermal_cost": (columns.commitment.decision,),
        "contract_cost": (network.contract,),
        "deficit_cost": (network.deficit,),
        "excess_cost": (network.excess,),
        "inflow_penalty_cost": (hydro.negative_inflow,),
        "generic_violation_cost": (columns.constraint.above, columns.constraint.below),
        "spillage_cost": (hydro.spillage, hydro.diversion),
        "turbined_cost": (hydro.turbined,),
        "exchange_cost": (network.line_direct, network.line_reverse),
    }
    flat = {kind: np.concatenate([group.ravel() for group in parts]) for kind, parts in groups.items()}
    present = {kind: places[places != ABSENT] for kind, places in flat.items() if (places != ABSENT).any()}
    ends = np.cumsum([len(places) for places in present.values()]).tolist()
    of_kind = {
        kind: slice(end - len(places), end) for (kind, places), end in zip(present.items(), ends, strict=True)
    }
    together = np.concatenate(list(present.values()))
    return PricedColumns(together, view.problem.template.column_cost[together], of_kind)
