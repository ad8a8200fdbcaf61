"""Water, energy and money of simulated tables, added up again from the tables and the data of the case alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import Any

import numpy as np

from cobre.core.case import Case
from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.core.simulation_tables import COSTS
from cobre.study import SimulationResult

PARTS = [
    name
    for name in COSTS.column_names[COSTS.column_names.index("thermal_cost") :]
    if name not in ("hydro_violation_cost", "pumping_cost")
]
"""Columns whose sum is the objective, but for the reward of non-controllable sources."""

Row = dict[str, Any]


def rows(result: SimulationResult, table: str) -> list[Row]:
    return result.table(table, names=False).to_pylist() if table in result.tables else []


def assert_balanced(case: Case, result: SimulationResult, relative: float = 1e-6) -> None:
    """Everything at once: each stage, block and scenario."""
    assert_energy(case, result, relative)
    assert_water(case, result, relative)
    assert_money(case, result, relative)
    assert_production(case, result, relative)
    assert_evaporation(case, result, relative)


def assert_energy(case: Case, result: SimulationResult, relative: float) -> None:
    """At each bus, in each block: what arrives is what is taken."""
    system = case.system
    supply: dict[tuple[int, ...], float] = defaultdict(float)
    scale: dict[tuple[int, ...], float] = defaultdict(lambda: 1.0)

    def add(row: Row, bus: int, power: float) -> None:
        key = (row["scenario_id"], row["stage_id"], row["block_id"], bus)
        supply[key] += power
        scale[key] = max(scale[key], abs(power))

    kinds = [each.name for each in fields(system)]
    by_id = {kind: {e.id: e for e in getattr(system, kind)} for kind in kinds}
    position = {bus.id: index for index, bus in enumerate(system.buses)}
    for row in rows(result, "hydro_bus_generation"):
        add(row, position[row["bus_id"]], row["generation_mw"])
    for row in rows(result, "thermals"):
        add(row, by_id["thermals"][row["thermal_id"]].bus, row["generation_mw"])
    for row in rows(result, "non_controllables"):
        add(row, by_id["non_controllables"][row["non_controllable_id"]].bus, row["generation_mw"])
    for row in rows(result, "contracts"):
        contract = by_id["contracts"][row["contract_id"]]
        add(row, contract.bus, row["power_mw"] if contract.is_import else -row["power_mw"])
    for row in rows(result, "pumping_stations"):
        add(row, by_id["pumping_stations"][row["pumping_station_id"]].bus, -row["power_consumption_mw"])
    for row in rows(result, "exchanges"):
        line = by_id["lines"][row["line_id"]]
        arrives = 1.0 - line.losses_percent / 100.0
        add(row, line.source_bus, arrives * row["reverse_flow_mw"] - row["direct_flow_mw"])
        add(row, line.target_bus, arrives * row["direct_flow_mw"] - row["reverse_flow_mw"])
    buses = rows(result, "buses")
    assert buses
    for row in buses:
        add(row, position[row["bus_id"]], row["deficit_mw"] - row["excess_mw"] - row["load_mw"])
    assert len(supply) == len(buses)
    for key, power in supply.items():
        assert abs(power) <= relative * scale[key], (key, power)


def assert_water(case: Case, result: SimulationResult, relative: float) -> None:
    """In each reservoir, over each stage: what is stored is what came minus what went."""
    stages = {stage.id: stage for stage in case.horizon.stages}
    position = {plant.id: index for index, plant in enumerate(case.system.hydros)}
    stored: dict[tuple[int, ...], float] = defaultdict(float)
    first: dict[tuple[int, ...], Row] = {}
    for row in rows(result, "hydros"):
        key = (row["scenario_id"], row["stage_id"], position[row["hydro_id"]])
        first.setdefault(key, row)
        hours = stages[row["stage_id"]].blocks[row["block_id"]].hours
        flow = row["inflow_m3s"] - row["incremental_inflow_m3s"] - row["outflow_m3s"]
        flow += (row["diverted_inflow_m3s"] or 0.0) - (row["diverted_outflow_m3s"] or 0.0)
        stored[key] += HM3_PER_M3S_HOUR * hours * flow
    stations = {station.id: station for station in case.system.pumping_stations}
    for row in rows(result, "pumping_stations"):
        station = stations[row["pumping_station_id"]]
        for plant, sign in ((station.source_hydro, -1.0), (station.destination_hydro, 1.0)):
            stored[row["scenario_id"], row["stage_id"], plant] += sign * row["pumped_volume_hm3"]
    for (scenario, stage_id, plant), row in first.items():
        stage = stages[stage_id]
        planned = case.tables.hydro.withdrawal_m3s[plant, case.horizon.index_of[stage_id]]
        flow = row["incremental_inflow_m3s"] + row["inflow_nonnegativity_slack_m3s"]
        flow -= row["evaporation_m3s"] or 0.0
        flow -= (
            planned + row["water_withdrawal_violation_pos_m3s"] - row["water_withdrawal_violation_neg_m3s"]
        )
        change = stored[scenario, stage_id, plant] + HM3_PER_M3S_HOUR * stage.hours * flow
        error = row["storage_final_hm3"] - row["storage_initial_hm3"] - change
        scale = max(1.0, abs(row["storage_final_hm3"]), abs(HM3_PER_M3S_HOUR * stage.hours * flow))
        assert abs(error) <= relative * scale, (scenario, stage_id, plant, error)


def assert_money(case: Case, result: SimulationResult, relative: float) -> None:
    """Each stage's cost is the sum of its parts, and each scenario's that of its stages."""
    stages = {stage.id: index for index, stage in enumerate(case.horizon.stages)}
    reward: dict[tuple[int, int], float] = defaultdict(float)
    position = {source.id: index for index, source in enumerate(case.system.non_controllables)}
    for row in rows(result, "non_controllables"):
        stage = stages[row["stage_id"]]
        hours = case.horizon.stages[stage].blocks[row["block_id"]].hours
        price = case.tables.non_controllable.curtailment_cost_per_mwh[
            position[row["non_controllable_id"]], stage
        ]
        reward[row["scenario_id"], row["stage_id"]] += price * row["available_mw"] * hours
    totals: dict[int, float] = defaultdict(float)
    for row in rows(result, "costs"):
        parts = [row[name] for name in PARTS]
        assert len(parts) == 19
        scale = max(1.0, *(abs(part) for part in parts))
        expected = sum(parts) - reward[row["scenario_id"], row["stage_id"]]
        assert abs(row["immediate_cost"] - expected) <= relative * scale, row
        assert row["total_cost"] == row["immediate_cost"] + row["future_cost"] or np.isclose(
            row["total_cost"], row["immediate_cost"] + row["future_cost"], rtol=1e-12
        )
        totals[row["scenario_id"]] += row["discount_factor"] * row["immediate_cost"]
    for row in rows(result, "scenario_summary"):
        assert np.isclose(row["discounted_immediate_cost"], totals[row["scenario_id"]], rtol=1e-9, atol=1e-9)


def assert_production(case: Case, result: SimulationResult, relative: float) -> None:
    """In each block: power is productivity times turbined flow, or below every production plane."""
    tables = case.tables.hydro
    position = {plant.id: index for index, plant in enumerate(case.system.hydros)}
    for row in rows(result, "hydros"):
        place = position[row["hydro_id"]], case.horizon.index_of[row["stage_id"]]
        planes = tables.planes_of(*place)
        power, scale = row["generation_mw"], max(1.0, abs(row["generation_mw"]))
        if not len(planes):
            expected = tables.productivity_mw_per_m3s[place] * row["turbined_m3s"]
            assert abs(power - expected) <= relative * scale, row
            continue
        mean = (row["storage_initial_hm3"] + row["storage_final_hm3"]) / 2.0
        allowed = planes @ (1.0, mean, row["turbined_m3s"], row["spillage_m3s"])
        assert power <= allowed.min() + relative * max(scale, np.abs(allowed).max()), row


def assert_evaporation(case: Case, result: SimulationResult, relative: float) -> None:
    """In each stage: evaporation follows its line over the mean storage, apart from what is counted as violation."""
    tables = case.tables.hydro
    position = {plant.id: index for index, plant in enumerate(case.system.hydros)}
    for row in rows(result, "hydros"):
        place = position[row["hydro_id"]], case.horizon.index_of[row["stage_id"]]
        if not case.system.hydros[place[0]].has_evaporation:
            assert row["evaporation_m3s"] is None, row
            continue
        mean = (row["storage_initial_hm3"] + row["storage_final_hm3"]) / 2.0
        line = tables.evaporation_base_m3s[place] + tables.evaporation_slope[place] * mean
        line += row["evaporation_violation_pos_m3s"] - row["evaporation_violation_neg_m3s"]
        assert abs(row["evaporation_m3s"] - line) <= relative * max(1.0, abs(line)), row
