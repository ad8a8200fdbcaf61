"""Buses, lines and pumping stations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.sddp.simulation.outcome import Reported, StageOutcome, StageView, zeros
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
    hours = view.hours_of_rows(len(view.scope.system.buses))
    reported = outcome.reported(view.once(_reported_of_buses))
    return {
        **view.once(_bus_keys),
        **reported,
        "load_mw": flat(load),
        "load_mwh": flat(load * view.hours),
        "deficit_mw": flat(deficit),
        "deficit_mwh": flat(deficit * view.hours),
        "excess_mwh": reported["excess_mw"] * hours,
        "spot_price": flat(outcome.once(spot_prices)),
    }


def _reported_of_buses(view: StageView) -> Reported:
    return Reported.of({"excess_mw": view.problem.columns.network.excess})


def _bus_keys(view: StageView) -> Values:
    return keys(view, "bus_id", view.scope.system.buses)


def exchange_rows(outcome: StageOutcome) -> Values:
    """Flows, losses and charges of lines."""
    view, network = outcome.view, outcome.view.problem.columns.network
    hours = view.hours_of_rows(len(view.scope.system.lines))
    reported = outcome.reported(view.once(_reported_of_lines))
    direct, reverse = reported["direct_flow_mw"], reported["reverse_flow_mw"]
    net = direct - reverse
    losses = view.once(_share_lost) * (direct + reverse)
    prices = [view.places(columns).prices.ravel() for columns in (network.line_direct, network.line_reverse)]
    return {
        **view.once(_line_keys),
        **reported,
        "net_flow_mw": net,
        "net_flow_mwh": net * hours,
        "losses_mw": losses,
        "losses_mwh": losses * hours,
        "exchange_cost": direct * prices[0] + reverse * prices[1],
    }


def _reported_of_lines(view: StageView) -> Reported:
    network = view.problem.columns.network
    return Reported.of({"direct_flow_mw": network.line_direct, "reverse_flow_mw": network.line_reverse})


def _line_keys(view: StageView) -> Values:
    lines = view.scope.system.lines
    return {
        **keys(view, "line_id", lines),
        "operative_state_code": states(view, view.scope.tables.operation.line, len(lines)),
    }


def _share_lost(view: StageView) -> Floats:
    """``[row]``."""
    lines = np.array([line.losses_percent for line in view.scope.system.lines])
    return np.repeat(lines, view.n_blocks) / 100.0


def pumping_rows(outcome: StageOutcome) -> Values:
    """Water lifted and the energy that it takes."""
    view = outcome.view
    stations = view.scope.system.pumping_stations
    flow = outcome.values(view.problem.columns.network.pumping)
    power = outcome.once(_pumping_power)
    return {
        **keys(view, "pumping_station_id", stations),
        "pumped_flow_m3s": flat(flow),
        "pumped_volume_hm3": flat(flow * (HM3_PER_M3S_HOUR * view.hours)),
        "power_consumption_mw": flat(power),
        "energy_consumption_mwh": flat(power * view.hours),
        "pumping_cost": flat(outcome.once(pumping_charges)),
        "operative_state_code": states(view, view.scope.tables.operation.pumping, len(stations)),
    }


def pumping_charges(outcome: StageOutcome) -> Floats:
    """``[n, station, block]``: the energy of pumping at the spot price of its bus."""
    buses = np.array([station.bus for station in outcome.view.scope.system.pumping_stations], dtype=np.int64)
    return outcome.once(_pumping_power) * outcome.view.hours * outcome.once(spot_prices)[:, buses]


def _pumping_power(outcome: StageOutcome) -> Floats:
    stations = outcome.view.scope.system.pumping_stations
    rates = np.array([station.consumption_mw_per_m3s for station in stations])[:, np.newaxis]
    power: Floats = outcome.values(outcome.view.problem.columns.network.pumping) * rates
    return power
