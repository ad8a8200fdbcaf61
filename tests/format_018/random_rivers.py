"""Hydros of random cases: rivers, units, limits, evaporation, pumps, plants that come, go and are filled."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from format_018.small import Case018, limits

BOUNDS = "constraints/hydro_bounds.parquet"
GEOMETRY = "system/hydro_geometry.parquet"
MONTH_HM3 = 2.6
"""About what 1 m3/s brings in a month."""


def add_rivers(draw: Random, case: Case018) -> None:
    """One to four plants, each above a later one or the last of its river."""
    count = draw.choice((1, 2, 3, 3, 4))
    for number in range(count):
        below = [*range(number + 1, count), None]
        most, least = round(draw.uniform(60.0, 250.0), 1), round(draw.uniform(0.0, 20.0), 1)
        flow, rho = round(draw.uniform(40.0, 120.0), 1), round(draw.uniform(0.2, 1.1), 3)
        plant = case.add_hydro(
            round(draw.uniform(least + 5.0, most), 2),
            most,
            least=least,
            flow=flow,
            productivity=rho,
            downstream=draw.choice(below[:2]),
            inflow=[round(draw.uniform(15.0, 45.0), 2) for _ in case.hours],
        )
        power = round(rho * flow * draw.uniform(0.8, 1.3), 2)
        plant["generation"] = {"model": "constant_productivity", **limits(flow, power)}
        plant["unit_groups"] = [
            {"id": 0, "name": "G", "bus_id": draw.randrange(len(case.loads)), **limits(flow, power)}
        ]
    is_random = draw.random() < 0.8
    rows = case.all_tables()["scenarios/inflow_seasonal_stats.parquet"]
    case.tables["scenarios/inflow_seasonal_stats.parquet"] = [
        {**row, "std_m3s": round(draw.uniform(2.0, 8.0), 2) if is_random else 0.0} for row in rows
    ]


def _hydros(case: Case018) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = case.documents["system/hydros.json"]["hydros"]
    return found


def _is_lasting(plant: dict[str, Any]) -> bool:
    """Whether the plant is there all the time."""
    return not any(key in plant for key in ("entry_stage_id", "exit_stage_id", "filling"))


def _is_a_hydro(case: Case018, number: int | None) -> bool:
    return number is not None and number < len(_hydros(case))


def _commissioning(draw: Random, case: Case018) -> None:
    for plant in _hydros(case):
        if draw.random() < 0.4:
            plant[draw.choice(("entry_stage_id", "exit_stage_id"))] = 1


def _filling(draw: Random, case: Case018) -> None:
    """A plant that is filled from the first or second stage on."""
    plant = draw.choice(_hydros(case))
    if not _is_lasting(plant) or len(case.hours) < 3:
        return
    start = draw.choice((0, 1))
    dead = round(draw.uniform(30.0, 55.0), 1)
    level = round(draw.uniform(0.0, 0.9) * dead, 1) if start == 0 else 0.0
    last = len(case.hours) - 1
    volume = sum(0.0036 * sum(hours) for hours in case.hours[start:last])
    rate = round(draw.uniform(1.01, 1.6) * (dead - level) / volume, 2)  # reaches the dead volume in time
    plant["entry_stage_id"] = last
    plant["reservoir"]["min_storage_hm3"] = dead
    plant["filling"] = {"start_stage_id": start, "filling_min_rate_m3s": rate}
    initial = case.documents["initial_conditions.json"]
    initial["storage"] = [each for each in initial["storage"] if each["hydro_id"] != plant["id"]]
    initial["filling_storage"].append({"hydro_id": plant["id"], "value_hm3": level})
    if draw.random() < 0.5:
        row = {
            "hydro_id": plant["id"],
            "stage_id": start,
            "block_id": None,
            "filling_min_rate_m3s": rate + 2.0,
        }
        case.tables.setdefault(BOUNDS, []).append(row)


def _groups(draw: Random, case: Case018) -> None:
    """Units at several buses, some with minima that all plants' turbines can give."""
    for plant in _hydros(case):
        whole = plant["generation"]
        if draw.random() < 0.4:
            continue
        count = draw.choice((2, 3))
        parts = [draw.randint(1, 4) for _ in range(count)]
        shares = [draw.uniform(0.8, 1.0) * part / sum(parts) for part in parts]
        least = draw.choice((0.0, 0.0, 2.0)) if _is_lasting(plant) else 0.0
        power = draw.choice((0.0, 0.0, 1.5)) if _is_lasting(plant) else 0.0
        plant["unit_groups"] = [
            {
                "id": number,
                "name": f"G{number}",
                "bus_id": draw.randrange(len(case.loads)),
                "min_turbined_m3s": least,
                "max_turbined_m3s": round(share * whole["max_turbined_m3s"], 2),
                "min_generation_mw": power,
                "max_generation_mw": max(power, round(share * whole["max_generation_mw"], 2)),
            }
            for number, share in enumerate(shares)
        ]


def _group_limits(draw: Random, case: Case018) -> None:
    for plant in _hydros(case):
        for group in plant["unit_groups"]:
            for stage, blocks in enumerate(case.hours):
                if draw.random() < 0.3:
                    row = {
                        "hydro_id": plant["id"],
                        "hydro_unit_group_id": group["id"],
                        "stage_id": stage,
                        "block_id": draw.choice((None, len(blocks) - 1)),
                        "max_turbined_m3s": round(draw.uniform(0.5, 1.0) * group["max_turbined_m3s"], 2),
                    }
                    if _is_lasting(plant):
                        row["min_turbined_m3s"] = round(draw.uniform(0.0, 4.0), 2)
                    case.tables.setdefault("constraints/hydro_unit_group_bounds.parquet", []).append(row)


def _bounds(draw: Random, case: Case018) -> None:
    """Limits of plants by stage and block."""
    for plant in _hydros(case):
        whole = plant["generation"]
        for stage, blocks in enumerate(case.hours):
            if draw.random() < 0.5:
                continue
            row: dict[str, Any] = {"hydro_id": plant["id"], "stage_id": stage, "block_id": None}
            if draw.random() < 0.3 and _is_lasting(plant) and stage > 0:
                row["max_storage_hm3"] = round(0.8 * plant["reservoir"]["max_storage_hm3"], 1)
            row["max_turbined_m3s"] = round(draw.uniform(0.5, 1.0) * whole["max_turbined_m3s"], 2)
            if _is_lasting(plant):
                row["min_outflow_m3s"] = round(draw.uniform(0.0, 20.0), 2)
            _add_row(case, row)
            if len(blocks) > 1:
                block = {"hydro_id": plant["id"], "stage_id": stage, "block_id": len(blocks) - 1}
                block["max_generation_mw"] = round(draw.uniform(0.4, 1.0) * whole["max_generation_mw"], 2)
                block["max_outflow_m3s"] = round(draw.uniform(50.0, 200.0), 2)
                if _is_lasting(plant) and draw.random() < 0.5:
                    block["min_spillage_m3s"] = round(draw.uniform(0.0, 2.0), 2)
                _add_row(case, block)


def _add_row(case: Case018, row: dict[str, Any]) -> None:
    """A row of hydro bounds, in the place of the one for the same stage and block."""
    rows = case.tables.setdefault(BOUNDS, [])
    key = (row["hydro_id"], row["stage_id"], row["block_id"])
    for other in rows:
        if (other["hydro_id"], other["stage_id"], other["block_id"]) == key:
            other.update({name: value for name, value in row.items() if name not in other})
            return
    rows.append(row)


def _outflow(draw: Random, case: Case018) -> None:
    for plant in _hydros(case):
        if _is_lasting(plant):
            plant["outflow"]["min_outflow_m3s"] = round(draw.uniform(2.0, 25.0), 2)
        if draw.random() < 0.5:
            plant["outflow"]["max_outflow_m3s"] = round(draw.uniform(60.0, 150.0), 2)


def _diversion(draw: Random, case: Case018) -> None:
    plants = _hydros(case)
    for plant in plants:
        others = [other["id"] for other in plants if other["id"] > plant["id"]]
        if others and draw.random() < 0.6 and "filling" not in plant:
            most = round(draw.uniform(5.0, 30.0), 1)
            plant["diversion"] = {"downstream_id": draw.choice(others), "max_flow_m3s": most}
            if draw.random() < 0.5 and _is_lasting(plant):
                row = {"hydro_id": plant["id"], "stage_id": 0, "block_id": None}
                _add_row(case, {**row, "min_diversion_m3s": 1.0, "max_diversion_m3s": most / 2})


def _withdrawal(draw: Random, case: Case018) -> None:
    for plant in _hydros(case):
        for stage in range(len(case.hours)):
            if draw.random() < 0.4 and _is_lasting(plant):
                row = {"hydro_id": plant["id"], "stage_id": stage, "block_id": None}
                _add_row(case, {**row, "water_withdrawal_m3s": round(draw.uniform(-8.0, 12.0), 2)})


def _evaporation(draw: Random, case: Case018) -> None:
    rows = []
    for plant in _hydros(case):
        if draw.random() < 0.3:
            continue
        plant["evaporation"] = {"coefficients_mm": [round(draw.uniform(-40.0, 160.0), 1) for _ in range(12)]}
        low, high = (plant["reservoir"][f"{side}_storage_hm3"] for side in ("min", "max"))
        if draw.random() < 0.5:
            volumes = [round(draw.uniform(low, high), 1) for _ in range(12)]
            plant["evaporation"]["reference_volumes_hm3"] = [min(max(each, low), high) for each in volumes]
        area, height = round(draw.uniform(1.0, 5.0), 2), 300.0
        for point in range(4):
            volume = round(low + (high - low) * point / 3.0, 3)
            rows.append(
                {
                    "hydro_id": plant["id"],
                    "volume_hm3": volume,
                    "height_m": height,
                    "area_km2": round(area, 3),
                }
            )
            height += draw.uniform(1.0, 4.0)
            area += draw.uniform(0.5, 3.0)
    given = {row["hydro_id"] for row in rows}
    others = [row for row in case.tables.get(GEOMETRY, []) if row["hydro_id"] not in given]
    if rows:
        case.tables[GEOMETRY] = [*others, *rows]


def _prices(draw: Random, case: Case018) -> None:
    names = [
        "spillage_cost",
        "turbined_cost",
        "outflow_violation_below_cost",
        "turbined_violation_below_cost",
        "generation_violation_below_cost",
        "water_withdrawal_violation_cost",
        "evaporation_violation_cost",
        "filling_target_violation_cost",
        "storage_violation_below_cost",
    ]
    base = case.documents["penalties.json"]["hydro"]
    directions = ("water_withdrawal_violation_pos_cost", "evaporation_violation_neg_cost")
    for plant in _hydros(case):
        if draw.random() < 0.5:
            name = draw.choice(names)
            plant["penalties"] = {name: round(draw.uniform(0.6, 1.5) * base[name], 4)}
        if draw.random() < 0.5:
            name = draw.choice((*names, *directions))
            symmetric = name.replace("_pos", "").replace("_neg", "")
            row = {"hydro_id": plant["id"], "stage_id": draw.randrange(len(case.hours))}
            value = round(draw.uniform(0.6, 1.5) * base[symmetric], 4)
            case.tables.setdefault("constraints/penalty_overrides_hydro.parquet", []).append(
                {**row, name: value}
            )


def _productivity(draw: Random, case: Case018) -> None:
    """Productivities by range, by season, or in the table of productivities; an outage among them."""
    models = case.documents["system/hydro_production_models.json"]["production_models"]
    for index, entry in enumerate(models):
        choice = draw.choice(("ranges", "seasonal", "table", "none"))
        given = entry["stage_ranges"][0]
        rho = given["productivity_mw_per_m3s"]
        if choice == "ranges":
            second = {**given, "start_stage_id": 1, "productivity_mw_per_m3s": draw.choice((0.0, rho * 0.9))}
            entry["stage_ranges"] = [{**given, "end_stage_id": 0}, second]
        elif choice == "seasonal":
            seasons = [
                {
                    "season_id": month,
                    "model": "constant_productivity",
                    "productivity_mw_per_m3s": round(rho * (1.0 + 0.03 * month), 4),
                }
                for month in range(12)
            ]
            models[index] = {
                "hydro_id": entry["hydro_id"],
                "selection_mode": "seasonal",
                "default_model": "constant_productivity",
                "seasons": seasons,
            }
        elif choice == "table":
            del given["productivity_mw_per_m3s"]
            _energy_rows(case, entry["hydro_id"], rho, stage=0, other=round(0.8 * rho, 4))


def _energy_rows(case: Case018, number: int, rho: float, stage: int | None, other: float) -> None:
    rows = case.tables.setdefault("system/hydro_energy_productivity.parquet", [])
    for at, value in ((None, rho), (stage, other)):
        rows.append(
            {
                "hydro_id": number,
                "stage_id": at,
                "equivalent_productivity_mw_per_m3s": value,
                "reference_outflow_m3s": None,
                "specific_productivity_mw_per_m3s_per_m": None,
            }
        )


def _planes(draw: Random, case: Case018) -> None:
    """Production planes instead of a productivity."""
    models = case.documents["system/hydro_production_models.json"]["production_models"]
    for plant in _hydros(case):
        (entry,) = [each for each in models if each["hydro_id"] == plant["id"]]
        if draw.random() < 0.5 or entry["selection_mode"] == "seasonal" or len(entry["stage_ranges"]) > 1:
            continue
        (given,) = entry["stage_ranges"]
        rho = given.pop("productivity_mw_per_m3s", None)
        given.update(model="fpha", fpha_config={"source": "precomputed"})
        plant["generation"]["model"] = "fpha"
        if rho is not None:
            _energy_rows(case, plant["id"], rho, 1, round(rho * 0.95, 4))
        rho = rho or 0.5
        case.tables.setdefault(GEOMETRY, []).append(
            {"hydro_id": plant["id"], "volume_hm3": 1.0, "height_m": 300.0, "area_km2": 1.0}
        )
        most = plant["reservoir"]["max_storage_hm3"]
        rows = case.tables.setdefault("system/fpha_hyperplanes.parquet", [])
        for number in range(draw.choice((1, 2, 3))):
            rows.append(
                {
                    "hydro_id": plant["id"],
                    "stage_id": None,
                    "plane_id": number,
                    "gamma_0": round(3.0 * number, 2),
                    "gamma_v": round(rho * draw.uniform(1.0, 9.0) / most, 5),
                    "gamma_q": round(rho * (1.0 - 0.2 * number) * draw.uniform(0.8, 1.0), 4),
                    "gamma_s": -round(0.01 * rho * draw.uniform(0.0, 1.0), 5),
                    "kappa": draw.choice((1.0, 0.97)),
                    "valid_v_min_hm3": None,
                    "valid_v_max_hm3": None,
                    "valid_q_max_m3s": None,
                }
            )


def _pump(draw: Random, case: Case018) -> None:
    """A pump between two plants that are always there; its least flow is less than the least inflow."""
    plants = [plant["id"] for plant in _hydros(case) if _is_lasting(plant)]
    if len(plants) < 2:
        return
    source, target = draw.sample(plants, 2)
    least = draw.choice((0.0, 0.5))
    case.add_pump(
        *(source, target, draw.randrange(len(case.loads)), round(draw.uniform(0.1, 0.8), 2)),
        (least, round(draw.uniform(5.0, 30.0), 1)),
        **({"exit_stage_id": 1} if draw.random() < 0.3 else {}),
    )
    if draw.random() < 0.5:
        stage = draw.randrange(len(case.hours))
        case.tables["constraints/pumping_bounds.parquet"] = [
            {
                "pumping_station_id": 0,
                "stage_id": stage,
                "block_id": draw.choice((None, 0)),
                "max_m3s": round(draw.uniform(1.0, 6.0), 2),
            }
        ]


def _dates(draw: Random, case: Case018) -> None:
    """Dates that change the order of entities."""
    for path, key in (("system/hydros.json", "hydros"), ("system/thermals.json", "thermals")):
        for entity in case.documents[path][key]:
            entity["operational_start_date"] = f"{draw.randint(1990, 2020)}-0{draw.randint(1, 9)}-01"
        draw.shuffle(case.documents[path][key])


ELEMENTS: dict[str, Callable[[Random, Case018], None]] = {
    "commissioning": _commissioning,
    "filling": _filling,
    "groups": _groups,
    "productivity": _productivity,
    "planes": _planes,
    "group_limits": _group_limits,
    "bounds": _bounds,
    "outflow": _outflow,
    "diversion": _diversion,
    "withdrawal": _withdrawal,
    "evaporation": _evaporation,
    "prices": _prices,
    "pump": _pump,
    "dates": _dates,
}
