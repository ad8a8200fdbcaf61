"""Buses of a random case and everything that is connected to them, but for the reservoirs."""

from __future__ import annotations

from files.draft import Draft, Row


def write_grid(draft: Draft) -> None:
    draft.buses, draft.lines, draft.thermals = draft.ids(2), draft.ids(2), draft.ids(3)
    buses: list[Row] = [{"id": bus, "name": f"bus{bus}"} for bus in draft.buses]
    if draft.has("penalties_entity"):
        depths = [(5.0, 333.0), (2.0, 600.0), (None, 1111.0)]
        buses[0]["deficit_segments"] = [{"depth_mw": depth, "cost": cost} for depth, cost in depths]
    draft.document("system/buses.json", {"buses": buses})
    _write_lines(draft)
    _write_thermals(draft)


def _write_lines(draft: Draft) -> None:
    a, b = draft.buses
    lines: list[Row] = [
        {"source_bus_id": a, "target_bus_id": b, "capacity": {"direct_mw": 9.0, "reverse_mw": 6.0}},
        {"source_bus_id": b, "target_bus_id": a, "capacity": {"direct_mw": 4.0, "reverse_mw": 3.0}},
    ]
    if draft.has("losses"):
        lines[0]["losses_percent"] = draft.choice([4.0, 12.0])
    if draft.has("penalties_entity"):
        lines[1]["exchange_cost"] = 2.5
    if draft.has("line_entry"):
        lines[0]["entry_stage_id"], lines[1]["exit_stage_id"] = draft.stage_ids[1:3]
    draft.document("system/lines.json", {"lines": _named(draft.lines, "l", lines)})


def _write_thermals(draft: Draft) -> None:
    a, b = draft.buses
    thermals: list[Row] = [
        {"bus_id": a, "generation": _range("mw", draft.choice([0.0, 2.0]), 10.0), "cost_per_mwh": 25.0},
        {"bus_id": b, "generation": _range("mw", 0.0, 12.0), "cost_per_mwh": 60.0},
        {"bus_id": draft.choice([a, b]), "generation": _range("mw", 1.0, 8.0), "cost_per_mwh": 140.0},
    ]
    if draft.has("thermal_entry"):
        first, second = draft.stage_ids[:2]
        thermals[0]["entry_stage_id"] = thermals[2]["exit_stage_id"] = second
        thermals[1].update(entry_stage_id=first, exit_stage_id=draft.stage_ids[-1] + 1)
    draft.document("system/thermals.json", {"thermals": _named(draft.thermals, "t", thermals)})


def write_sources(draft: Draft) -> None:
    draft.sources = []
    if not draft.has("ncs", "ncs_bounds", "ncs_stats", "ncs_factors", "ncs_entry"):
        return
    draft.sources = draft.ids(2)
    sources: list[Row] = [
        {"bus_id": bus, "max_generation_mw": size} for bus, size in zip(draft.buses, (5.0, 8.0), strict=True)
    ]
    if draft.has("penalties_entity"):
        sources[0]["curtailment_cost"] = 4.0
    if draft.has("ncs_entry"):
        sources[0]["entry_stage_id"], sources[1]["exit_stage_id"] = draft.stage_ids[1:3]
    draft.document(
        "system/non_controllable_sources.json",
        {"non_controllable_sources": _named(draft.sources, "n", sources)},
    )


def write_stations(draft: Draft) -> None:
    draft.stations = []
    if not draft.has("pump", "pump_bounds", "pump_entry"):
        return
    draft.stations = draft.ids(1)
    station: Row = {
        "bus_id": draft.buses[1],
        "source_hydro_id": draft.hydros[2],
        "destination_hydro_id": draft.hydros[0],
        "consumption_mw_per_m3s": 0.4,
        "flow": _range("m3s", draft.choice([0.0, 1.0]), 5.0),
    }
    if draft.has("pump_entry"):
        station["entry_stage_id"] = draft.stage_ids[1]
    stations = _named(draft.stations, "p", [station])
    draft.document("system/pumping_stations.json", {"pumping_stations": stations})


def write_contracts(draft: Draft) -> None:
    """An import and an export; ``negative_future`` sells so dearly that every later stage earns money."""
    draft.contracts = []
    if not draft.has("contracts", "contract_bounds", "contract_entry", "negative_future"):
        return
    draft.contracts = draft.ids(2)
    price, size = (-900.0, 30.0) if draft.has("negative_future") else (-45.0, 3.0)
    contracts: list[Row] = [
        {"type": "import", "price_per_mwh": 80.0, "limits": _range("mw", draft.choice([0.0, 1.0]), 6.0)},
        {"type": "export", "price_per_mwh": price, "limits": _range("mw", 0.0, size)},
    ]
    for contract, bus in zip(contracts, draft.buses, strict=True):
        contract["bus_id"] = bus
    if draft.has("contract_entry"):
        contracts[1]["entry_stage_id"], contracts[0]["exit_stage_id"] = draft.stage_ids[1:3]
    draft.document("system/energy_contracts.json", {"contracts": _named(draft.contracts, "c", contracts)})


def _range(unit: str, low: float, high: float) -> Row:
    return {f"min_{unit}": low, f"max_{unit}": high}


def _named(ids: list[int], letter: str, entities: list[Row]) -> list[Row]:
    return [{"id": i, "name": f"{letter}{i}", **entity} for i, entity in zip(ids, entities, strict=True)]
