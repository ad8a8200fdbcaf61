"""Hydro plants: water, power, prices and violations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.sddp.simulation.outcome import Reported, Scalar, StageOutcome, StageView, by_block, zeros
from cobre.sddp.simulation.tables.layout import flat, keys, states
from cobre.sddp.subproblem.builder import ABSENT
from cobre.sddp.subproblem.transit import Rivers

Values = dict[str, NDArray[np.generic]]

AT_LIMIT = 1e-6
"""Share of the storage range within which a storage counts as lying at its limit."""
AT_MINIMUM, AT_MAXIMUM = 1, 2


def hydro_rows(outcome: StageOutcome) -> Values:
    """Everything about each plant, block by block."""
    view = outcome.view
    final = _storage_final(outcome)
    by_period: Values = {
        **_water_of_period(outcome, final),
        **_energy_of_period(outcome, final),
        "water_value_per_hm3": 0.0 - outcome.duals(view.problem.rows.water_balance),
        "storage_binding_code": _binding(view, final),
    }
    return {
        **view.once(_same_for_all),
        **outcome.reported(view.once(_reported)),
        **{name: flat(value) for name, value in _flows(outcome).items()},
        **{name: flat(_in_blocks(view, value)) for name, value in by_period.items()},
        "incremental_inflow_energy_mw": flat(by_block(view, _inflow_energy(outcome))),
        "spillage_cost": flat(outcome.charges(view.problem.columns.hydro.spillage)),
    }


def _in_blocks(view: StageView, values: NDArray[Scalar]) -> NDArray[Scalar]:
    """``[n, hydro, block]``: values ``[n, hydro, period]``."""
    if values.shape[2] == view.n_blocks:
        return values
    return values[:, :, view.scope.period_of_block]


def _reported(view: StageView) -> Reported:
    """What the table says of a plant as it is in the program."""
    hydro, of_block = view.problem.columns.hydro, view.scope.period_of_block
    stage = {
        "incremental_inflow_m3s": view.problem.columns.state.inflow,
        "storage_violation_below_hm3": hydro.storage_below,
        "filling_target_violation_hm3": hydro.filling_below,
        "inflow_nonnegativity_slack_m3s": hydro.negative_inflow,
        "water_withdrawal_violation_pos_m3s": hydro.withdrawal_above,
        "water_withdrawal_violation_neg_m3s": hydro.withdrawal_below,
    }
    return Reported.of(
        {
            "spillage_m3s": hydro.spillage,
            "outflow_slack_below_m3s": hydro.outflow_below,
            "outflow_slack_above_m3s": hydro.outflow_above,
            "evaporation_violation_pos_m3s": hydro.evaporation_above[:, of_block],
            "evaporation_violation_neg_m3s": hydro.evaporation_below[:, of_block],
            **{name: by_block(view, columns) for name, columns in stage.items()},
        }
    )


def _same_for_all(view: StageView) -> Values:
    """Columns that do not depend on the scenario: ids and productivities."""
    plants, energy, stage = view.scope.system.hydros, view.energy, view.scope.index
    integrated = energy.integrated_accumulated_productivity[:, stage]
    by_stage = {
        "equivalent_productivity_mw_per_m3s": energy.equivalent_productivity[:, stage],
        "accumulated_productivity_mw_per_m3s": energy.accumulated_productivity[:, stage],
        "integrated_equivalent_productivity_mw_per_m3s": energy.integrated_productivity[:, stage],
        "integrated_accumulated_productivity_mw_per_m3s": integrated,
    }
    return {
        **keys(view, "hydro_id", plants),
        **{name: flat(by_block(view, value)) for name, value in by_stage.items()},
        "operative_state_code": states(view, view.scope.tables.operation.hydro, len(plants)),
    }


def hydro_bus_rows(outcome: StageOutcome) -> Values:
    """Turbined flow and power by plant and bus."""
    view = outcome.view
    power = outcome.once(_power)
    return {
        **view.once(_plant_and_bus),
        "turbined_m3s": flat(outcome.once(_turbined)),
        "generation_mw": flat(power),
        "generation_mwh": flat(power * view.hours),
    }


def _plant_and_bus(view: StageView) -> Values:
    system = view.scope.system
    buses = np.array([system.buses[cell.bus].id for cell in system.cells], dtype=np.int32)
    plants = [system.hydros[cell.hydro] for cell in system.cells]
    return {**keys(view, "hydro_id", plants), "bus_id": np.repeat(buses, view.n_blocks)}


def lag_rows(outcome: StageOutcome) -> Values:
    """Past inflows as the stage begins, plant by plant, the nearest lag first."""
    view = outcome.view
    layout, n_plants = view.problem.parameters, len(view.scope.system.hydros)
    lags = outcome.parameters[:, layout.lags].reshape(len(outcome), layout.n_lags, n_plants)
    return {
        **view.once(_plant_and_lag),
        "inflow_m3s": flat(lags[:, : view.n_inflow_lags].transpose(0, 2, 1)),
    }


def _plant_and_lag(view: StageView) -> Values:
    ids = np.array([plant.id for plant in view.scope.system.hydros], dtype=np.int32)
    lags = np.arange(1, view.n_inflow_lags + 1, dtype=np.int32)
    return {"hydro_id": np.repeat(ids, len(lags)), "lag_index": np.tile(lags, len(ids))}


def _power(outcome: StageOutcome) -> Floats:
    """``[n, cell, block]`` in MW."""
    hydro = outcome.view.problem.columns.hydro
    return outcome.values(hydro.generation) * hydro.generation_factor[:, np.newaxis]


def _turbined(outcome: StageOutcome) -> Floats:
    """``[n, cell, block]`` in m3/s."""
    return outcome.values(outcome.view.problem.columns.hydro.turbined)


def _by_plant(outcome: StageOutcome, of_cells: Floats) -> Floats:
    """``[n, hydro, block]``: values ``[n, cell, block]`` of each plant, added in order of its buses."""
    scope = outcome.view.scope
    if len(scope.system.cells) == len(scope.system.hydros):
        return of_cells
    total = zeros(len(of_cells), len(scope.system.hydros), of_cells.shape[2])
    for cell, hydro in enumerate(scope.cell_hydro.tolist()):
        total[:, hydro] += of_cells[:, cell]
    return total


def _of_plants(outcome: StageOutcome, columns: Indices) -> Floats:
    """``[n, hydro, block]``, or ``[hydro, block]`` of zeros: what the program's columns ``[cell, block]`` say."""
    view = outcome.view
    if view.places(columns).present is None:
        return np.zeros((len(view.scope.system.hydros), view.n_blocks))
    return _by_plant(outcome, outcome.values(columns))


def _flows(outcome: StageOutcome) -> dict[str, Floats]:
    """Flows, power and violations ``[n, hydro, block]``; ``[hydro, block]`` if they are the same for all scenarios."""
    view, hydro = outcome.view, outcome.view.problem.columns.hydro
    turbined = _by_plant(outcome, outcome.once(_turbined))
    incremental = by_block(view, outcome.values(view.problem.columns.state.inflow))
    power = _by_plant(outcome, outcome.once(_power))
    outflow = turbined + outcome.values(hydro.spillage)
    return {
        "turbined_m3s": turbined,
        "outflow_m3s": outflow,
        **_diverted(outcome),
        "inflow_m3s": incremental + _received(outcome, outflow),
        "generation_mw": power,
        "generation_mwh": power * view.hours,
        "turbined_slack_m3s": _of_plants(outcome, hydro.turbined_below),
        "generation_slack_mw": _of_plants(outcome, hydro.generation_below),
    }


def _diverted(outcome: StageOutcome) -> dict[str, Floats]:
    """What plants send through canals and receive from them; null for those without."""
    view = outcome.view
    sends, receives = view.once(_canals)
    if not sends.any():
        nothing = np.full((len(sends), view.n_blocks), np.nan)
        return {"diverted_inflow_m3s": nothing, "diverted_outflow_m3s": nothing}
    diverted = outcome.values(view.problem.columns.hydro.diversion)
    arriving = _passed_on(diverted, view.scope.diversion_target)
    return {
        "diverted_inflow_m3s": np.where(receives, arriving, np.nan),
        "diverted_outflow_m3s": np.where(sends, diverted, np.nan),
    }


def _received(outcome: StageOutcome, outflow: Floats) -> Floats:
    """``[n, hydro, block]``: what arrives of releases above, at once and after its time on the river.

    And what plants above that are not there let pass.
    """
    view = outcome.view
    rivers = view.once(_rivers)
    arriving = _passed_on(outflow, rivers.at_once)
    transit = rivers.transit
    for arc, shares in zip(transit.arcs, rivers.flow_shares(), strict=True):
        receiver = rivers.receiver(transit.ring_of(arc))
        if receiver != ABSENT:
            for released in range(view.n_blocks):  # in order, whatever the number of scenarios
                arriving[:, receiver] += outflow[:, arc.source, released, np.newaxis] * shares[released]
    if not view.scope.is_present.all():
        arriving += _let_pass(outcome)[:, :, np.newaxis]
    incoming = outcome.parameters[:, view.problem.parameters.transit]
    for ring, rates in enumerate(rivers.arrival_rates()):
        receiver = rivers.receiver(ring)
        if receiver != ABSENT and transit.depth[ring]:
            arriving[:, receiver] += incoming[:, transit.starts[ring], np.newaxis] * rates
    return arriving


def _let_pass(outcome: StageOutcome) -> Floats:
    """``[n, hydro]``: natural inflow less withdrawals that plants above, which are not there, leave to this one."""
    view, hydro = outcome.view, outcome.view.problem.columns.hydro
    scope = view.scope
    natural = outcome.values(view.problem.columns.state.inflow) + outcome.values(hydro.negative_inflow)
    withdrawn = outcome.values(hydro.withdrawal_above) - outcome.values(hydro.withdrawal_below)
    net = natural - (withdrawn + scope.at(scope.tables.hydro.withdrawal_m3s))
    passing = zeros(*net.shape)
    for above in np.flatnonzero(~scope.is_present).tolist():
        receiver = int(scope.receiver[above])
        if receiver != ABSENT:
            passing[:, receiver] += net[:, above]
    return passing


def _rivers(view: StageView) -> Rivers:
    return Rivers(view.problem.carried.transit, view.scope)


def _canals(view: StageView) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """``[hydro, 1]``: who sends water through a canal, be it out of the system, and who receives it."""
    targets = view.scope.diversion_target
    sends = np.array([plant.diversion is not None for plant in view.scope.system.hydros], dtype=np.bool_)
    receives = np.zeros(len(targets), dtype=np.bool_)
    receives[targets[targets != ABSENT]] = True
    return sends[:, np.newaxis], receives[:, np.newaxis]


def _passed_on(flows: Floats, receivers: Indices) -> Floats:
    """What arrives at each plant of ``flows [n, hydro, block]`` sent to ``receivers [hydro]``, added in id order."""
    arriving = np.zeros_like(flows)
    for sender, receiver in enumerate(receivers.tolist()):
        if receiver != ABSENT:
            arriving[:, receiver] += flows[:, sender]
    return arriving


def _water_of_period(outcome: StageOutcome, final: Floats) -> dict[str, Floats]:
    """Storages and evaporation ``[n, hydro, period]``."""
    view = outcome.view
    evaporation = outcome.values(view.problem.columns.hydro.evaporation)
    return {
        "evaporation_m3s": np.where(view.once(_has_evaporation), evaporation, np.nan),
        "storage_initial_hm3": _storage_initial(outcome, final),
        "storage_final_hm3": final,
    }


def _has_evaporation(view: StageView) -> NDArray[np.bool_]:
    has = np.array([plant.has_evaporation for plant in view.scope.system.hydros], dtype=np.bool_)
    return has[:, np.newaxis]


def _storage_initial(outcome: StageOutcome, final: Floats) -> Floats:
    """``[n, hydro, period]``: what the stage received, and then what each block left to the next."""
    first = outcome.parameters[:, outcome.view.problem.parameters.storage]
    return np.concatenate([first[:, :, np.newaxis], final[:, :, :-1]], axis=2)


def _storage_final(outcome: StageOutcome) -> Floats:
    """``[n, hydro, period]``, exactly within its limits, which a solver passes by rounding."""
    low, high = outcome.view.once(_storage_limits)
    return np.clip(outcome.values(outcome.view.once(_storages)), low, high)


def _storages(view: StageView) -> Indices:
    """``[hydro, period]``: columns of the storages at the end."""
    return view.problem.columns.state.storage_after[:, view.scope.block_of_period]


def _storage_limits(view: StageView) -> tuple[Floats, Floats]:
    columns, template = view.once(_storages), view.problem.template
    return template.column_lower[columns], template.column_upper[columns]


def _inflow_energy(outcome: StageOutcome) -> Floats:
    """``[n, hydro]`` in MW."""
    view = outcome.view
    incremental = outcome.values(view.problem.columns.state.inflow)
    energy: Floats = incremental * view.energy.accumulated_productivity[:, view.scope.index]
    return energy


def _energy_of_period(outcome: StageOutcome, final: Floats) -> dict[str, Floats]:
    """Stored energy ``[n, hydro, period]``; per hour of the stage, whatever the period."""
    view = outcome.view
    energy, stage, hours = view.energy, view.scope.index, view.scope.stage.hours

    def stored(volumes: Floats) -> Floats:
        by_period = [energy.stored_energy_mwh(volumes[:, :, p], stage) for p in range(volumes.shape[2])]
        return np.stack(by_period, axis=2)

    before, after = stored(_storage_initial(outcome, final)), stored(final)
    return {
        "stored_energy_initial_mwh": before,
        "stored_energy_final_mwh": after,
        "stored_energy_initial_mw": before / hours,
        "stored_energy_final_mw": after / hours,
    }


def _binding(view: StageView, final: Floats) -> NDArray[np.int8]:
    """``[n, hydro, period]``: at which limit the final storage lies."""
    low, high = view.once(_binding_limits)
    code = np.where(final >= high, AT_MAXIMUM, 0)
    return np.where(final <= low, AT_MINIMUM, code).astype(np.int8)


def _binding_limits(view: StageView) -> tuple[Floats, Floats]:
    """``[hydro, 1]``: up to where a storage lies at its minimum, and from where on at its maximum."""
    tables = view.scope.tables.hydro
    low, high = view.scope.at(tables.min_storage_hm3), view.scope.at(tables.max_storage_hm3)
    near = AT_LIMIT * np.where(np.isfinite(high), high - low, 0.0)  # a plant that is not there has no highest
    return (low + near)[:, np.newaxis], (high - near)[:, np.newaxis]
