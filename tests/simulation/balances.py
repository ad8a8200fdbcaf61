"""Water, energy and money of simulated tables, added up again from the tables and the data of the case alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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

OPERATING = 2

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
    """In each reservoir, over each stage or chronological block: what is stored is what came minus what went."""
    position = {plant.id: index for index, plant in enumerate(case.system.hydros)}
    pumped = pumped_hm3(case, result)
    found: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for row in rows(result, "hydros"):
        found[row["scenario_id"], row["stage_id"], position[row["hydro_id"]]].append(row)
    for (scenario, stage_id, plant), of_stage in found.items():
        stage = case.horizon.stages[case.horizon.index_of[stage_id]]
        assert [row["block_id"] for row in of_stage] == list(range(len(stage.blocks)))
        planned = case.tables.hydro.withdrawal_m3s[plant, case.horizon.index_of[stage_id]]
        for period in [[row] for row in of_stage] if stage.is_chronological else [of_stage]:
            first, last = period[0], period[-1]
            change = last["storage_final_hm3"] - first["storage_initial_hm3"]
            volumes = []
            for row in period:
                hours = stage.blocks[row["block_id"]].hours
                volumes += [HM3_PER_M3S_HOUR * hours * flow for flow in flows_into(row, planned)]
                volumes.append(pumped[scenario, stage_id, row["block_id"], plant])
            scale = max(1.0, abs(last["storage_final_hm3"]), *(abs(volume) for volume in volumes))
            if not is_there(first):
                assert all(row["outflow_m3s"] == 0.0 for row in period)
                assert abs(change) <= relative * scale, first
                continue
            error = change - sum(volumes)
            assert abs(error) <= relative * scale, (scenario, stage_id, plant, error)
    for (_, stage_id, plant), of_stage in found.items():
        if not case.horizon.stages[case.horizon.index_of[stage_id]].is_chronological:
            assert len({row["storage_final_hm3"] for row in of_stage}) == 1, (stage_id, plant)


def is_there(row: Row) -> bool:
    """Whether a plant holds water back: it operates, or is being filled."""
    return row["operative_state_code"] in (1, 2)


def flows_into(row: Row, planned_withdrawal: float) -> list[float]:
    """All that enters the reservoir in a block and, negative, all that leaves it, in m3/s."""
    return [
        row["inflow_m3s"],
        row["inflow_nonnegativity_slack_m3s"],
        row["diverted_inflow_m3s"] or 0.0,
        -row["outflow_m3s"],
        -(row["diverted_outflow_m3s"] or 0.0),
        -(row["evaporation_m3s"] or 0.0),
        -planned_withdrawal,
        -row["water_withdrawal_violation_pos_m3s"],
        row["water_withdrawal_violation_neg_m3s"],
    ]


def pumped_hm3(case: Case, result: SimulationResult) -> dict[tuple[int, ...], float]:
    """By scenario, stage, block and plant: what stations bring to it."""
    stations = {station.id: station for station in case.system.pumping_stations}
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for row in rows(result, "pumping_stations"):
        station = stations[row["pumping_station_id"]]
        for plant, sign in ((station.source_hydro, -1.0), (station.destination_hydro, 1.0)):
            key = (row["scenario_id"], row["stage_id"], row["block_id"], plant)
            found[key] += sign * row["pumped_volume_hm3"]
    return found


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
        if stages[row["stage_id"]] == len(stages) - 1:
            totals[row["scenario_id"]] += row["discount_factor"] * row["future_cost"]
    for row in rows(result, "scenario_summary"):
        assert np.isclose(row["discounted_immediate_cost"], totals[row["scenario_id"]], rtol=1e-9, atol=1e-9)


def rows_of_hydros(case: Case, result: SimulationResult) -> Iterator[tuple[dict[str, Any], tuple[int, int]]]:
    """Each row, and the place of its plant and stage in the tables of the case."""
    position = {plant.id: index for index, plant in enumerate(case.system.hydros)}
    for row in rows(result, "hydros"):
        yield row, (position[row["hydro_id"]], case.horizon.index_of[row["stage_id"]])


def assert_production(case: Case, result: SimulationResult, relative: float) -> None:
    """In each block: power is productivity times turbined flow, or below every plane; 0 of a plant that is filled."""
    tables = case.tables.hydro
    for row, place in rows_of_hydros(case, result):
        planes = tables.planes_of(*place)
        power, scale = row["generation_mw"], max(1.0, abs(row["generation_mw"]))
        if row["operative_state_code"] != OPERATING:
            assert power == 0.0, row
            continue
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
    for row, place in rows_of_hydros(case, result):
        if not case.system.hydros[place[0]].has_evaporation:
            assert row["evaporation_m3s"] is None, row
            continue
        if not is_there(row):
            assert row["evaporation_m3s"] == 0.0, row
            continue
        mean = (row["storage_initial_hm3"] + row["storage_final_hm3"]) / 2.0
        line = tables.evaporation_base_m3s[place] + tables.evaporation_slope[place] * mean
        line += row["evaporation_violation_pos_m3s"] - row["evaporation_violation_neg_m3s"]
        assert abs(row["evaporation_m3s"] - line) <= relative * max(1.0, abs(line)), row
