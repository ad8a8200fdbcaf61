"""Thermal plants, contracts and non-controllable sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.simulation.outcome import Floats, StageOutcome, StageView
from cobre.sddp.simulation.tables.layout import OPERATING, flat, keys, states

Values = dict[str, NDArray[np.generic]]


def thermal_rows(outcome: StageOutcome) -> Values:
    """Generation and fuel."""
    view = outcome.view
    columns = view.problem.columns.network.thermal
    power = outcome.values(columns)
    return {
        **view.once(_same_for_all),
        "generation_mw": flat(power),
        "generation_mwh": flat(power * view.hours),
        "generation_cost": flat(outcome.charges(columns)),
    }


def _same_for_all(view: StageView) -> Values:
    """Columns of thermal plants that do not depend on the scenario."""
    plants = view.scope.system.thermals
    n_rows = len(plants) * view.n_blocks
    return {
        **keys(view, "thermal_id", plants),
        "is_anticipated": np.zeros(n_rows, dtype=np.bool_),
        "anticipated_committed_mw": np.full(n_rows, np.nan),
        "anticipated_decision_mw": np.full(n_rows, np.nan),
        "operative_state_code": states(view, view.scope.tables.operation.thermal, len(plants)),
    }


def contract_rows(outcome: StageOutcome) -> Values:
    """Power bought or sold."""
    view = outcome.view
    contracts, columns = view.scope.system.contracts, view.problem.columns.network.contract
    power = outcome.values(columns)
    price = view.scope.at(view.scope.tables.contract.price_per_mwh)
    return {
        **keys(view, "contract_id", contracts),
        "power_mw": flat(power),
        "energy_mwh": flat(power * view.hours),
        "price_per_mwh": np.repeat(price, view.n_blocks),
        "total_cost": flat(outcome.charges(columns)),
        "operative_state_code": states(view, view.scope.tables.operation.contract, len(contracts)),
    }


def available_mw(outcome: StageOutcome) -> Floats:
    """``[n, source, block]``: what nature gives to non-controllable sources."""
    view = outcome.view
    factor = view.scope.by_block(view.scope.tables.non_controllable.factor)
    given = outcome.parameters[:, view.problem.parameters.available, np.newaxis]
    available: Floats = given * factor[np.newaxis]
    return available


def curtailment_charges(outcome: StageOutcome) -> Floats:
    """``[n, source, block]``: the price of available power that is not used."""
    view = outcome.view
    unused = available_mw(outcome) - outcome.values(view.problem.columns.network.non_controllable)
    charges: Floats = unused * view.scope.cost(view.scope.tables.non_controllable.curtailment_cost_per_mwh)
    return charges


def non_controllable_rows(outcome: StageOutcome) -> Values:
    """Power used and power curtailed, of the sources that operate in this stage."""
    view = outcome.view
    sources = view.scope.system.non_controllables
    power = outcome.values(view.problem.columns.network.non_controllable)
    available = available_mw(outcome)
    unused = available - power
    codes = states(view, view.scope.tables.operation.non_controllable, len(sources))
    values: Values = {
        **keys(view, "non_controllable_id", sources),
        "generation_mw": flat(power),
        "generation_mwh": flat(power * view.hours),
        "available_mw": flat(available),
        "curtailment_mw": flat(unused),
        "curtailment_mwh": flat(unused * view.hours),
        "curtailment_cost": flat(curtailment_charges(outcome)),
        "operative_state_code": codes,
    }
    operates = codes == OPERATING
    return values if operates.all() else {name: column[..., operates] for name, column in values.items()}
