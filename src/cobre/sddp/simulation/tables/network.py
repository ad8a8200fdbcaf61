"""Buses, lines and pumping stations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.sddp.simulation.outcome import Floats, StageOutcome, StageView, zeros
from cobre.sddp.simulation.tables.layout import flat, keys, states

Values = dict[str, NDArray[np.generic]]


def spot_prices(outcome: StageOutcome) -> Floats:
    """``[n, bus, block]`` in $/MWh."""
    return outcome.duals(outcome.view.problem.rows.load_balance) / outcome.view.hours


def bus_rows(outcome: StageOutcome) -> Values:
    """Demand, deficit, excess and price."""
    view, network = outcome.view, outcome.view.problem.columns.network
    layout = view.problem.parameters
    load = (
        outcome.parameters[:, layout.load, np.newaxis]
        * view.scope.by_block(view.scope.tables.bus.load_factor)[np.newaxis]
    )
    deficit = zeros(len(outcome), len(view.scope.system.buses), view.n_blocks)
    of_segments = outcome.values(network.deficit)
    for segment, bus in enumerate(network.deficit_bus.tolist()):  # in order: a bus may have several
        deficit[:, bus] += of_segments[:, segment]
    excess = outcome.values(network.excess)
    return {
        **view.once(_bus_keys),
        "load_mw": flat(load),
        "load_mwh": flat(load * view.hours),
        "deficit_mw": flat(deficit),
        "deficit_mwh": flat(deficit * view.hours),
        "excess_mw": flat(excess),
        "excess_mwh": flat(excess * view.hours),
        "spot_price": flat(spot_prices(outcome)),
    }


def _bus_keys(view: StageView) -> Values:
    return keys(view, "bus_id", view.scope.system.buses)


def exchange_rows(outcome: StageOutcome) -> Values:
    """Flows, losses and charges of lines."""
    view, network = outcome.view, outcome.view.problem.columns.network
    direct, reverse = outcome.values(network.line_direct), outcome.values(network.line_reverse)
    net = direct - reverse
    losses = view.once(_share_lost) * (direct + reverse)
    charges = outcome.charges(network.line_direct) + outcome.charges(network.line_reverse)
    return {
        **view.once(_line_keys),
        "direct_flow_mw": flat(direct),
        "reverse_flow_mw": flat(reverse),
        "net_flow_mw": flat(net),
        "net_flow_mwh": flat(net * view.hours),
        "losses_mw": flat(losses),
        "losses_mwh": flat(losses * view.hours),
        "exchange_cost": flat(charges),
    }


def _line_keys(view: StageView) -> Values:
    lines = view.scope.system.lines
    return {
        **keys(view, "line_id", lines),
        "operative_state_code": states(view, view.scope.tables.operation.line, len(lines)),
    }


def _share_lost(view: StageView) -> Floats:
    """``[line, 1]``."""
    return np.array([line.losses_percent for line in view.scope.system.lines])[:, np.newaxis] / 100.0


def pumping_rows(outcome: StageOutcome) -> Values:
    """Water lifted and the energy that it takes."""
    view = outcome.view
    stations = view.scope.system.pumping_stations
    flow = outcome.values(view.problem.columns.network.pumping)
    power = _pumping_power(outcome)
    return {
        **keys(view, "pumping_station_id", stations),
        "pumped_flow_m3s": flat(flow),
        "pumped_volume_hm3": flat(flow * (HM3_PER_M3S_HOUR * view.hours)),
        "power_consumption_mw": flat(power),
        "energy_consumption_mwh": flat(power * view.hours),
        "pumping_cost": flat(pumping_charges(outcome)),
        "operative_state_code": states(view, view.scope.tables.operation.pumping, len(stations)),
    }


def pumping_charges(outcome: StageOutcome) -> Floats:
    """``[n, station, block]``: the energy of pumping at the spot price of its bus."""
    buses = np.array([station.bus for station in outcome.view.scope.system.pumping_stations], dtype=np.int64)
    return _pumping_power(outcome) * outcome.view.hours * spot_prices(outcome)[:, buses]


def _pumping_power(outcome: StageOutcome) -> Floats:
    stations = outcome.view.scope.system.pumping_stations
    rates = np.array([station.consumption_mw_per_m3s for station in stations])[:, np.newaxis]
    power: Floats = outcome.values(outcome.view.problem.columns.network.pumping) * rates
    return power
