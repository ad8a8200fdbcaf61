"""Power of one node: thermal plants, lines, sources, contracts and the balance of every bus."""

from __future__ import annotations

from files.folder import Folder, Row, is_present
from files.program import INFINITY, Node


def add_grid(folder: Folder, node: Node) -> None:
    for thermal in folder.thermals:
        _add_thermal(folder, node, thermal)
    for line in folder.lines:
        _add_line(folder, node, line)
    for source in folder.sources:
        _add_source(folder, node, source)
    for contract in folder.contracts:
        _add_contract(folder, node, contract)
    for bus in folder.buses:
        _add_bus(folder, node, bus)


def _add_thermal(folder: Folder, node: Node, thermal: Row) -> None:
    i, here = thermal["id"], is_present(thermal, node.stage_id)

    def limit(name: str, base: float) -> float:
        return folder.limit("thermal", i, node.stage_id, name, base)

    low = limit("min_generation_mw", thermal["generation"]["min_mw"]) * here
    high = limit("max_generation_mw", thermal["generation"]["max_mw"]) * here
    price = limit("cost_per_mwh", thermal["cost_per_mwh"])
    for block, hours in enumerate(node.hours):
        column = node.priced(price * hours, low, high)
        node.power[thermal["bus_id"], block].append((column, 1.0))
        node.name("thermal_generation", i, block, [(column, 1.0)])


def _add_line(folder: Folder, node: Node, line: Row) -> None:
    """Both directions lose on arrival."""
    i, here, arriving = line["id"], is_present(line, node.stage_id), 1 - line.get("losses_percent", 0.0) / 100
    price = _price(folder, node, line, "line", "exchange_cost", folder.penalties["line"])
    for block, hours in enumerate(node.hours):
        factors = folder.exchange_factors.get((i, node.stage_id, block), {})
        flows = []
        for way in ("direct", "reverse"):
            capacity = folder.limit("line", i, node.stage_id, f"{way}_mw", line["capacity"][f"{way}_mw"])
            high = capacity * factors.get(f"{way}_factor", 1.0) * here
            flows.append(node.priced(price * hours, 0.0, high))
            node.name(f"line_{way}", i, block, [(flows[-1], 1.0)])
        direct, reverse = flows
        node.power[line["source_bus_id"], block] += [(direct, -1.0), (reverse, arriving)]
        node.power[line["target_bus_id"], block] += [(direct, arriving), (reverse, -1.0)]
        node.name("line_exchange", i, block, [(direct, 1.0), (reverse, -1.0)])


def _price(folder: Folder, node: Node, entity: Row, kind: str, name: str, common: Row) -> float:
    own = common[name] if entity.get(name) is None else entity[name]
    return folder.limit(f"penalty_overrides_{kind}", entity["id"], node.stage_id, name, own)


def _add_source(folder: Folder, node: Node, source: Row) -> None:
    i = source["id"]
    available = folder.limit("ncs", i, node.stage_id, "available_generation_mw", source["max_generation_mw"])
    available *= is_present(source, node.stage_id)
    if (i, node.stage_id) in folder.source_stats:
        row = folder.source_stats[i, node.stage_id]
        available *= min(max(row["mean"] + row["std"] * node.noise["ncs", i], 0.0), 1.0)
    common = folder.penalties["non_controllable_source"]
    reward = _price(folder, node, source, "ncs", "curtailment_cost", common)
    for block, hours in enumerate(node.hours):
        most = available * folder.source_factors.get((i, node.stage_id, block), {}).get("factor", 1.0)
        column = node.priced(-reward * hours, 0.0, most)
        node.power[source["bus_id"], block].append((column, 1.0))
        node.name("non_controllable_generation", i, block, [(column, 1.0)])
        node.name("non_controllable_curtailment", i, block, [(column, -1.0)], most)


def _add_contract(folder: Folder, node: Node, contract: Row) -> None:
    i, limits, here = contract["id"], contract["limits"], is_present(contract, node.stage_id)
    low, high = (
        folder.limit("contract", i, node.stage_id, name, limits[name]) * here for name in ("min_mw", "max_mw")
    )
    price = folder.limit("contract", i, node.stage_id, "price_per_mwh", contract["price_per_mwh"])
    for block, hours in enumerate(node.hours):
        column = node.priced(price * hours, low, high)
        sign = 1.0 if contract["type"] == "import" else -1.0
        node.power[contract["bus_id"], block].append((column, sign))
        node.name(f"contract_{contract['type']}", i, block, [(column, 1.0)])


def _add_bus(folder: Folder, node: Node, bus: Row) -> None:
    i = bus["id"]
    row = folder.loads.get((i, node.stage_id), {"mean_mw": 0.0, "std_mw": 0.0})
    load = row["mean_mw"]
    if ("load", i) in node.noise:
        load = max(0.0, load + row["std_mw"] * node.noise["load", i])
    segments = bus.get("deficit_segments") or folder.penalties["bus"]["deficit_segments"]
    price = _price(folder, node, bus, "bus", "excess_cost", folder.penalties["bus"])
    for block, hours in enumerate(node.hours):
        deficit = []
        for segment in segments:
            depth = INFINITY if segment["depth_mw"] is None else segment["depth_mw"]
            deficit.append((node.priced(segment["cost"] * hours, 0.0, depth), 1.0))
        excess = node.priced(price * hours)
        wanted = load * folder.load_factors.get((i, node.stage_id, block), {}).get("factor", 1.0)
        node.program.row([*node.power[i, block], *deficit, (excess, -1.0)], wanted, wanted)
        node.name("bus_deficit", i, block, deficit)
        node.name("bus_excess", i, block, [(excess, 1.0)])
