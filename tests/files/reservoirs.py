"""Water of one node: reservoirs, what they release, lose and generate, and the stations that pump."""

from __future__ import annotations

import datetime as dt

import numpy as np

from files.folder import Folder, Row, is_present
from files.program import INFINITY, Node, Terms

HM3_PER_M3S_HOUR = 0.0036


def add_reservoirs(folder: Folder, node: Node) -> None:
    for hydro in folder.hydros:
        low, high = (
            _limit(folder, node, hydro, f"{end}_storage_hm3", hydro["reservoir"]) for end in ("min", "max")
        )
        node.storage[hydro["id"]] = node.program.column(low, high)
        for block in range(len(node.hours)):
            node.name("hydro_storage", hydro["id"], block, [(node.storage[hydro["id"]], 1.0)])
            _add_release(folder, node, hydro, block)
        _add_missing_inflow(folder, node, hydro)
        _add_evaporation(folder, node, hydro, high)
        _add_withdrawal(folder, node, hydro)
    for station in folder.stations:
        _add_pumping(folder, node, station)
    for hydro in folder.hydros:
        i = hydro["id"]
        change = [(node.storage[i], 1.0), *((column, -c) for column, c in node.incoming[i])]
        fixed = _volume(node) * node.inflows[i] + node.initial[i]
        withdrawn = _volume(node) * folder.limit("hydro", i, node.stage_id, "water_withdrawal_m3s", 0.0)
        node.program.row(change + node.water[i], fixed - withdrawn, fixed - withdrawn)


def _volume(node: Node) -> float:
    return HM3_PER_M3S_HOUR * sum(node.hours)


def _limit(folder: Folder, node: Node, hydro: Row, name: str, base: Row) -> float:
    return folder.limit("hydro", hydro["id"], node.stage_id, name, base.get(name))


def _mean_storage(node: Node, hydro: int, factor: float) -> tuple[Terms, float]:
    """``factor`` times the mean of both ends of the stage: terms and a constant."""
    terms = [(node.storage[hydro], factor / 2)]
    terms += [(column, c * factor / 2) for column, c in node.incoming[hydro]]
    return terms, node.initial[hydro] * factor / 2


def _production(folder: Folder, node: Node, hydro: Row) -> tuple[str, float | None]:
    """Model and productivity of this stage."""
    model, productivity = hydro["generation"]["model"], hydro["generation"].get("productivity_mw_per_m3s")
    choice = folder.production.get(hydro["id"], {"selection_mode": "none"})
    matching: list[Row] = []
    if choice["selection_mode"] == "stage_ranges":
        for entry in choice["stage_ranges"]:
            end = entry.get("end_stage_id")
            if entry["start_stage_id"] <= node.stage_id and (end is None or node.stage_id <= end):
                matching.append(entry)
    elif choice["selection_mode"] == "seasonal":
        model = choice["default_model"]
        matching = [e for e in choice["seasons"] if e["season_id"] == node.stage.get("season_id")]
    for entry in matching:
        model, productivity = entry["model"], entry.get("productivity_override") or productivity
    return model, productivity


def _add_release(folder: Folder, node: Node, hydro: Row, block: int) -> None:
    i, hours, program = hydro["id"], node.hours[block], node.program
    generation, diversion = hydro["generation"], hydro.get("diversion")

    def price(name: str) -> float:
        return folder.hydro_cost(hydro, node.stage_id, name) * hours

    model, productivity = _production(folder, node, hydro)
    turbine = _limit(folder, node, hydro, "max_turbined_m3s", generation)
    power = _limit(folder, node, hydro, "max_generation_mw", generation)
    spilled = node.priced(price("spillage_cost"))
    if model == "fpha":
        turbined = node.priced(price("fpha_turbined_cost"), 0.0, turbine)
        generated = (program.column(0.0, power), 1.0)
        _add_planes(folder, node, i, turbined, spilled, generated[0])
    else:
        turbined = program.column(0.0, min(turbine, power / productivity))
        generated = (turbined, productivity)
    reach = (
        folder.limit("hydro", i, node.stage_id, "max_diversion_m3s", diversion["max_flow_m3s"])
        if diversion
        else 0.0
    )
    diverted = node.priced(price("diversion_cost"), 0.0, reach)
    node.power[hydro["bus_id"], block].append(generated)

    outflow = [(turbined, 1.0), (spilled, 1.0), (diverted, 1.0)]
    volume = HM3_PER_M3S_HOUR * hours
    node.water[i] += [(column, volume) for column, _ in outflow]
    if hydro["downstream_id"] is not None:
        node.water[hydro["downstream_id"]] += [(turbined, -volume), (spilled, -volume)]
    if diversion:
        node.water[diversion["downstream_id"]].append((diverted, -volume))

    least = {
        "turbined": ([(turbined, 1.0)], _limit(folder, node, hydro, "min_turbined_m3s", generation)),
        "generation": ([generated], _limit(folder, node, hydro, "min_generation_mw", generation)),
        "outflow": (outflow, _limit(folder, node, hydro, "min_outflow_m3s", hydro["outflow"])),
    }
    for what, (terms, bound) in least.items():
        if bound > 0.0:
            missing = node.priced(price(f"{what}_violation_below_cost"))
            program.row([*terms, (missing, 1.0)], bound, INFINITY)
    most = _limit(folder, node, hydro, "max_outflow_m3s", hydro["outflow"])
    if most is not None:
        excess = node.priced(price("outflow_violation_above_cost"))
        program.row([*outflow, (excess, -1.0)], -INFINITY, most)

    node.name("hydro_turbined", i, block, [(turbined, 1.0)])
    node.name("hydro_spillage", i, block, [(spilled, 1.0)])
    node.name("hydro_diversion", i, block, [(diverted, 1.0)])
    node.name("hydro_outflow", i, block, [(turbined, 1.0), (spilled, 1.0)])
    node.name("hydro_generation", i, block, [generated])


def _add_planes(folder: Folder, node: Node, hydro: int, turbined: int, spilled: int, generated: int) -> None:
    own = [plane for plane in folder.planes if plane["hydro_id"] == hydro]
    planes = [p for p in own if p["stage_id"] == node.stage_id] or [p for p in own if p["stage_id"] is None]
    for plane in planes:
        kappa = 1.0 if plane.get("kappa") is None else plane["kappa"]
        head, constant = _mean_storage(node, hydro, -plane["gamma_v"])
        flow = [(turbined, -plane["gamma_q"]), (spilled, -plane["gamma_s"])]
        node.program.row([(generated, 1.0), *head, *flow], -INFINITY, kappa * plane["gamma_0"] - constant)


def _add_missing_inflow(folder: Folder, node: Node, hydro: Row) -> None:
    if folder.non_negativity.endswith("penalty"):
        price = folder.hydro_cost(hydro, node.stage_id, "inflow_nonnegativity_cost")
        node.water[hydro["id"]].append((node.priced(price * sum(node.hours)), -_volume(node)))


def _add_evaporation(folder: Folder, node: Node, hydro: Row, highest: float) -> None:
    if not hydro.get("evaporation"):
        return
    i, evaporation, hours = hydro["id"], hydro["evaporation"], sum(node.hours)
    start, end = (dt.date.fromisoformat(node.stage[key]) for key in ("start_date", "end_date"))
    month, next_month = start.month - 1, (start.replace(day=1) + dt.timedelta(days=31)).replace(day=1)
    # A stage that is a calendar month has its declared hours, any other those of the calendar month it begins in.
    is_month = start.day == 1 and end == next_month
    month_hours = hours if is_month else 24.0 * (next_month - start.replace(day=1)).days
    reservoir = hydro["reservoir"]
    middle = (reservoir["min_storage_hm3"] + reservoir["max_storage_hm3"]) / 2
    reference = evaporation.get("reference_volumes_hm3", [middle] * 12)[month]
    points = sorted((row["volume_hm3"], row["area_km2"]) for row in folder.geometry if row["hydro_id"] == i)
    volumes, areas = zip(*points, strict=True)
    segment = max(n for n in range(len(points) - 1) if volumes[n] <= reference)
    slope = (areas[segment + 1] - areas[segment]) / (volumes[segment + 1] - volumes[segment])
    rate = evaporation["coefficients_mm"][month] / (3.6 * month_hours)
    factor = rate * slope
    base = rate * float(np.interp(reference, volumes, areas)) - factor * reference

    def price(side: str) -> float:
        return folder.hydro_cost(hydro, node.stage_id, f"evaporation_violation_{side}_cost") * hours

    most = 2 * abs(base + factor * highest)
    evaporated = node.program.column(-most, most)
    missing, excess = node.priced(price("neg")), node.priced(price("pos"))
    surface, constant = _mean_storage(node, i, -factor)
    terms = [(evaporated, 1.0), (missing, 1.0), (excess, -1.0), *surface]
    node.program.row(terms, base - constant, base - constant)
    node.water[i].append((evaporated, _volume(node)))
    for block in range(len(node.hours)):
        node.name("hydro_evaporation", i, block, [(evaporated, 1.0)])


def _add_withdrawal(folder: Folder, node: Node, hydro: Row) -> None:
    i, hours = hydro["id"], sum(node.hours)
    wanted = folder.limit("hydro", i, node.stage_id, "water_withdrawal_m3s", 0.0)
    terms: Terms = []
    if wanted > 0.0:
        for side, sign in (("neg", -1.0), ("pos", 1.0)):
            price = folder.hydro_cost(hydro, node.stage_id, f"water_withdrawal_violation_{side}_cost")
            terms.append((node.priced(price * hours), sign))
        node.water[i] += [(column, sign * _volume(node)) for column, sign in terms]
    for block in range(len(node.hours)):
        node.name("hydro_withdrawal", i, block, terms, wanted)


def _add_pumping(folder: Folder, node: Node, station: Row) -> None:
    i, flow = station["id"], station["flow"]
    low, high = (
        folder.limit("pumping", i, node.stage_id, name, flow[name]) * is_present(station, node.stage_id)
        for name in ("min_m3s", "max_m3s")
    )
    for block, hours in enumerate(node.hours):
        pumped, volume = node.program.column(low, high), HM3_PER_M3S_HOUR * hours
        node.water[station["source_hydro_id"]].append((pumped, volume))
        node.water[station["destination_hydro_id"]].append((pumped, -volume))
        power = station["consumption_mw_per_m3s"]
        node.power[station["bus_id"], block].append((pumped, -power))
        node.name("pumping_flow", i, block, [(pumped, 1.0)])
        node.name("pumping_power", i, block, [(pumped, power)])
