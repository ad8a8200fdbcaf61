"""The tables of a simulation, computed from the solves: one module per group of entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import (
    ANTICIPATED_LANES,
    BUSES,
    CONTRACTS,
    COSTS,
    EXCHANGES,
    GENERIC_VIOLATIONS,
    HYDRO_BUS_GENERATION,
    HYDROS,
    IN_TRANSIT,
    INFLOW_LAGS,
    NON_CONTROLLABLES,
    PUMPING_STATIONS,
    THERMALS,
    TRANSIT_SEED,
)
from cobre.sddp.simulation.outcome import StageOutcome
from cobre.sddp.simulation.tables import costs, generic, hydros, network, sources, transit

Values = Mapping[str, NDArray[Any]]
"""Columns by name, ``[scenario, row]`` or, the same for all scenarios, ``[row]``; NaN is null where null is allowed."""


@dataclass(frozen=True, eq=False)
class SimulationTable:
    """How one table is made."""

    schema: TableSchema
    exists: Callable[[Case], bool]
    rows: Callable[[StageOutcome], Values]
    """All columns but scenario, stage and node, for the rows of one stage: by entity, then by block."""


def _has_rivers(case: Case) -> bool:
    return any(plant.travel_time_hours > 0.0 for plant in case.system.hydros)


TABLES: tuple[SimulationTable, ...] = (
    SimulationTable(COSTS, lambda case: True, costs.cost_rows),
    SimulationTable(HYDROS, lambda case: bool(case.system.hydros), hydros.hydro_rows),
    SimulationTable(HYDRO_BUS_GENERATION, lambda case: bool(case.system.hydros), hydros.hydro_bus_rows),
    SimulationTable(THERMALS, lambda case: bool(case.system.thermals), sources.thermal_rows),
    SimulationTable(EXCHANGES, lambda case: bool(case.system.lines), network.exchange_rows),
    SimulationTable(BUSES, lambda case: True, network.bus_rows),
    SimulationTable(PUMPING_STATIONS, lambda case: bool(case.system.pumping_stations), network.pumping_rows),
    SimulationTable(CONTRACTS, lambda case: bool(case.system.contracts), sources.contract_rows),
    SimulationTable(
        NON_CONTROLLABLES, lambda case: bool(case.system.non_controllables), sources.non_controllable_rows
    ),
    SimulationTable(IN_TRANSIT, _has_rivers, transit.transit_rows),
    SimulationTable(TRANSIT_SEED, _has_rivers, transit.seed_rows),
    SimulationTable(
        ANTICIPATED_LANES,
        lambda case: any(plant.lead is not None for plant in case.system.thermals),
        sources.lane_rows,
    ),
    SimulationTable(INFLOW_LAGS, lambda case: bool(case.scenarios.lags.lag.size), hydros.lag_rows),
    SimulationTable(
        GENERIC_VIOLATIONS, lambda case: bool(case.system.generic_constraints), generic.violation_rows
    ),
)


def tables_of(case: Case) -> tuple[SimulationTable, ...]:
    """The tables that a simulation of ``case`` has."""
    return tuple(table for table in TABLES if table.exists(case))
