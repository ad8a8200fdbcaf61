"""Hydro plants: water, power, prices and violations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.simulation.outcome import Floats, StageOutcome, by_block
from cobre.sddp.simulation.tables.layout import flat, keys, states
from cobre.sddp.subproblem.builder import ABSENT, Indices

Values = dict[str, NDArray[np.generic]]

AT_LIMIT = 1e-6
"""Share of the storage range within which a storage counts as lying at its limit."""
AT_MINIMUM, AT_MAXIMUM = 1, 2


def hydro_rows(outcome: StageOutcome) -> Values:
    """Everything about each plant, block by block."""
    view = outcome.view
    plants, columns = view.scope.system.hydros, view.problem.columns
    by_stage = {**_water_of_stage(outcome), **_violations_of_stage(outcome), **_energy(outcome)}
    return {
        **keys(view, "hydro_id", plants),
        **{name: flat(value) for name, value in _flows(outcome).items()},
        **{name: flat(by_block(view, value)) for name, value in by_stage.items()},
        "spillage_cost": flat(outcome.charges(columns.hydro.spillage)),
        "water_value_per_hm3": flat(by_block(view, 0.0 - outcome.duals(view.problem.rows.water_balance))),
        "storage_binding_code": flat(by_block(view, _binding(outcome))),
        "operative_state_code": states(view, view.scope.tables.operation.hydro, len(plants)),
    }


def hydro_bus_rows(outcome: StageOutcome) -> Values:
    """Turbined flow and power by plant and bus."""
    view = outcome.view
    plants = view.scope.system.hydros
    buses = np.array([view.scope.system.buses[plant.bus].id for plant in plants], dtype=np.int32)
    power = _power(outcome)
    return {
        **keys(view, "hydro_id", plants),
        "bus_id": np.repeat(buses, view.n_blocks),
        "turbined_m3s": flat(outcome.values(view.problem.columns.hydro.turbined)),
        "generation_mw": flat(power),
        "generation_mwh": flat(power * view.hours),
    }


def lag_rows(outcome: StageOutcome) -> Values:
    """Past inflows as the stage begins, plant by plant, the nearest lag first."""
    view = outcome.view
    plants, layout, n_lags = view.scope.system.hydros, view.problem.parameters, view.n_inflow_lags
    ids = np.array([plant.id for plant in plants], dtype=np.int32)
    lags = outcome.parameters[:, layout.lags].reshape(len(outcome), layout.n_lags, len(plants))
    return {
        "hydro_id": np.repeat(ids, n_lags),
        "lag_index": np.tile(np.arange(1, n_lags + 1, dtype=np.int32), len(plants)),
        "inflow_m3s": flat(lags[:, :n_lags].transpose(0, 2, 1)),
    }


def _power(outcome: StageOutcome) -> Floats:
    """``[n, hydro, block]`` in MW."""
    hydro = outcome.view.problem.columns.hydro
    return outcome.values(hydro.generation) * hydro.generation_factor[:, np.newaxis]


def _flows(outcome: StageOutcome) -> dict[str, Floats]:
    """Flows, power and violations ``[n, hydro, block]``."""
    view, hydro = outcome.view, outcome.view.problem.columns.hydro
    turbined, spilled, diverted = (
        outcome.values(each) for each in (hydro.turbined, hydro.spillage, hydro.diversion)
    )
    incremental = by_block(view, outcome.values(view.problem.columns.state.inflow))
    power = _power(outcome)
    sends = view.scope.diversion_target
    receives = np.zeros(len(sends), dtype=np.bool_)
    receives[sends[sends != ABSENT]] = True
    arriving = _passed_on(diverted, sends)
    outflow = turbined + spilled
    return {
        "turbined_m3s": turbined,
        "spillage_m3s": spilled,
        "outflow_m3s": outflow,
        "diverted_inflow_m3s": np.where(receives[:, np.newaxis], arriving, np.nan),
        "diverted_outflow_m3s": np.where((sends != ABSENT)[:, np.newaxis], diverted, np.nan),
        "incremental_inflow_m3s": incremental,
        "inflow_m3s": incremental + _passed_on(outflow, view.scope.downstream),
        "generation_mw": power,
        "generation_mwh": power * view.hours,
        "turbined_slack_m3s": outcome.values(hydro.turbined_below),
        "outflow_slack_below_m3s": outcome.values(hydro.outflow_below),
        "outflow_slack_above_m3s": outcome.values(hydro.outflow_above),
        "generation_slack_mw": outcome.values(hydro.generation_below),
    }


def _passed_on(flows: Floats, receivers: Indices) -> Floats:
    """What arrives at each plant of ``flows [n, hydro, block]`` sent to ``receivers [hydro]``, added in id order."""
    arriving = np.zeros_like(flows)
    for sender, receiver in enumerate(receivers.tolist()):
        if receiver != ABSENT:
            arriving[:, receiver] += flows[:, sender]
    return arriving


def _water_of_stage(outcome: StageOutcome) -> dict[str, Floats]:
    """Storages and evaporation ``[n, hydro]``."""
    view, columns = outcome.view, outcome.view.problem.columns
    has = np.array([plant.has_evaporation for plant in view.scope.system.hydros], dtype=np.bool_)
    return {
        "evaporation_m3s": np.where(has, outcome.values(columns.hydro.evaporation), np.nan),
        "storage_initial_hm3": outcome.parameters[:, view.problem.parameters.storage],
        "storage_final_hm3": _storage_final(outcome),
    }


def _storage_final(outcome: StageOutcome) -> Floats:
    """Exactly within its limits, which a solver passes by rounding: as the next stage receives it."""
    view = outcome.view
    columns = view.problem.columns.state.storage
    template = view.problem.template
    return np.clip(outcome.values(columns), template.column_lower[columns], template.column_upper[columns])


def _violations_of_stage(outcome: StageOutcome) -> dict[str, Floats]:
    """``[n, hydro]``, or ``[hydro]`` where the program has no such violation."""
    hydro = outcome.view.problem.columns.hydro
    nothing = np.zeros(len(hydro.negative_inflow))
    return {
        "storage_violation_below_hm3": nothing,
        "filling_target_violation_hm3": nothing,
        "evaporation_violation_pos_m3s": outcome.values(hydro.evaporation_above),
        "evaporation_violation_neg_m3s": outcome.values(hydro.evaporation_below),
        "inflow_nonnegativity_slack_m3s": outcome.values(hydro.negative_inflow),
        "water_withdrawal_violation_pos_m3s": outcome.values(hydro.withdrawal_above),
        "water_withdrawal_violation_neg_m3s": outcome.values(hydro.withdrawal_below),
    }


def _energy(outcome: StageOutcome) -> dict[str, Floats]:
    """Stored energy and the energy of inflows ``[n, hydro]``; productivities ``[hydro]``."""
    view = outcome.view
    energy, stage = view.energy, view.scope.index
    accumulated = energy.accumulated_productivity[:, stage]
    integrated = energy.integrated_accumulated_productivity[:, stage]
    incremental = outcome.values(view.problem.columns.state.inflow)
    before = energy.stored_energy_mwh(outcome.parameters[:, view.problem.parameters.storage], stage)
    after = energy.stored_energy_mwh(_storage_final(outcome), stage)
    hours = view.scope.stage.hours
    return {
        "equivalent_productivity_mw_per_m3s": energy.equivalent_productivity[:, stage],
        "accumulated_productivity_mw_per_m3s": accumulated,
        "incremental_inflow_energy_mw": incremental * accumulated,
        "stored_energy_initial_mwh": before,
        "stored_energy_final_mwh": after,
        "integrated_equivalent_productivity_mw_per_m3s": energy.integrated_productivity[:, stage],
        "integrated_accumulated_productivity_mw_per_m3s": integrated,
        "stored_energy_initial_mw": before / hours,
        "stored_energy_final_mw": after / hours,
    }


def _binding(outcome: StageOutcome) -> NDArray[np.int8]:
    """``[n, hydro]``: at which limit the final storage lies."""
    tables, view = outcome.view.scope.tables.hydro, outcome.view
    low, high = view.scope.at(tables.min_storage_hm3), view.scope.at(tables.max_storage_hm3)
    near = AT_LIMIT * (high - low)
    final = _storage_final(outcome)
    code = np.where(final >= high - near, AT_MAXIMUM, 0)
    return np.where(final <= low + near, AT_MINIMUM, code).astype(np.int8)
