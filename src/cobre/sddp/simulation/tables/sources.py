"""Thermal plants, contracts and non-controllable sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.sddp.simulation.outcome import Reported, StageOutcome, StageView, by_block
from cobre.sddp.simulation.tables.layout import OPERATING, flat, keys, states
from cobre.sddp.subproblem.builder import ABSENT

Values = dict[str, NDArray[np.generic]]


def thermal_rows(outcome: StageOutcome) -> Values:
    """Generation and fuel."""
    view = outcome.view
    columns = view.problem.columns.network.thermal
    reported = outcome.reported(view.once(_reported_of_thermals))
    power = reported["generation_mw"]
    return {
        **view.once(_same_for_all),
        **_commitments(outcome),
        **reported,
        "generation_mwh": power * view.hours_of_rows(len(view.scope.system.thermals)),
        "generation_cost": power * view.places(columns).prices.ravel(),
    }


def _reported_of_thermals(view: StageView) -> Reported:
    return Reported.of({"generation_mw": view.problem.columns.network.thermal})


def _same_for_all(view: StageView) -> Values:
    """Columns of thermal plants that do not depend on the scenario."""
    plants = view.scope.system.thermals
    return {
        **keys(view, "thermal_id", plants),
        "is_anticipated": np.repeat([plant.lead is not None for plant in plants], view.n_blocks),
        "operative_state_code": states(view, view.scope.tables.operation.thermal, len(plants)),
    }


def _commitments(outcome: StageOutcome) -> Values:
    """What was decided before and is delivered now, and what is decided now; null where nothing is."""
    view = outcome.view
    columns = view.problem.columns.commitment
    found: Values = {}
    for name, each in (
        ("anticipated_committed_mw", columns.delivered),
        ("anticipated_decision_mw", columns.decision),
    ):
        if (each == ABSENT).all():
            found[name] = np.full(each.size * view.n_blocks, np.nan)
        else:
            values = np.where(each == ABSENT, np.nan, outcome.values(each))
            found[name] = flat(by_block(view, values))
    return found


def lane_rows(outcome: StageOutcome) -> Values:
    """Every delivery that is decided and not made as the stage ends."""
    view = outcome.view
    columns = view.problem.columns.commitment
    is_open, is_new, keys_of_rows = view.once(_open_lanes)
    low, high = view.problem.carried.commitment_limits(view.scope.index)
    values = np.clip(outcome.values(columns.outgoing), low, high)[:, is_open]
    return {
        **keys_of_rows,
        "deposited_decision_mw": np.where(is_new, values, 0.0),
        "carried_committed_mw": values,
    }


def _open_lanes(view: StageView) -> tuple[Ints, NDArray[np.bool_], Values]:
    """Components in use, whether this stage decides them, and their plants and dates."""
    commitments, stage = view.problem.carried.commitments, view.scope.index
    rows = []
    for c, delivery in enumerate(commitments.deliveries(stage)):
        if delivery is not None:
            lane = commitments.lanes[commitments.components[c][0]]
            date = commitments.clock.interval(delivery)[0]
            is_new = lane.deciders[delivery] == stage
            rows.append((c, is_new, view.scope.system.thermals[lane.thermal].id, int(f"{date:%Y%m%d}")))
    rows.sort(key=lambda row: row[2:])
    return (
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.bool_),
        {
            "thermal_id": np.array([row[2] for row in rows], dtype=np.int32),
            "delivery_date": np.array([row[3] for row in rows], dtype=np.int32),
        },
    )


def contract_rows(outcome: StageOutcome) -> Values:
    """Power bought or sold."""
    view = outcome.view
    contracts, columns = view.scope.system.contracts, view.problem.columns.network.contract
    power = outcome.values(columns)
    price = view.scope.limit(view.scope.tables.contract.price_per_mwh)
    return {
        **keys(view, "contract_id", contracts),
        "power_mw": flat(power),
        "energy_mwh": flat(power * view.hours),
        "price_per_mwh": price.ravel(),
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
    unused = outcome.once(available_mw) - outcome.values(view.problem.columns.network.non_controllable)
    charges: Floats = unused * view.scope.cost(view.scope.tables.non_controllable.curtailment_cost_per_mwh)
    return charges


def non_controllable_rows(outcome: StageOutcome) -> Values:
    """Power used and power curtailed, of the sources that operate in this stage."""
    view = outcome.view
    sources = view.scope.system.non_controllables
    power = outcome.values(view.problem.columns.network.non_controllable)
    available = outcome.once(available_mw)
    unused = available - power
    codes = states(view, view.scope.tables.operation.non_controllable, len(sources))
    values: Values = {
        **keys(view, "non_controllable_id", sources),
        "generation_mw": flat(power),
        "generation_mwh": flat(power * view.hours),
        "available_mw": flat(available),
        "curtailment_mw": flat(unused),
        "curtailment_mwh": flat(unused * view.hours),
        "curtailment_cost": flat(outcome.once(curtailment_charges)),
        "operative_state_code": codes,
    }
    operates = codes == OPERATING
    return values if operates.all() else {name: column[..., operates] for name, column in values.items()}
