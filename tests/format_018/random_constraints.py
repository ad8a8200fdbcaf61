"""Generic constraints of random cases: their text for the program, and what it means for the second opinion."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from format_018.small import Case018

PARAMETERS = "constraints/generic_parameters.json"


def _entities(case: Case018, path: str, key: str) -> list[int]:
    return [each["id"] for each in case.documents.get(path, {}).get(key, [])]


def _flows(case: Case018) -> dict[str, list[int]]:
    """Variables of blocks and the kinds of their entities."""
    hydros = _entities(case, "system/hydros.json", "hydros")
    lines = _entities(case, "system/lines.json", "lines")
    return {
        "thermal_generation": _entities(case, "system/thermals.json", "thermals"),
        "hydro_turbined": hydros,
        "hydro_generation": hydros,
        "hydro_spillage": hydros,
        "hydro_outflow": hydros,
        "hydro_inflow": hydros,
        "line_exchange": lines,
        "line_direct": lines,
        "bus_deficit": _buses(case),
        "pumping_flow": _entities(case, "system/pumping_stations.json", "pumping_stations"),
    }


def _buses(case: Case018) -> list[int]:
    """Buses, if all have as many deficit segments: with others the public program takes wrong columns."""
    counts = {len(bus.get("deficit_segments", [0])) for bus in case.documents["system/buses.json"]["buses"]}
    return _entities(case, "system/buses.json", "buses") if len(counts) == 1 else []


def _terms(draw: Random, variables: dict[str, list[int]], count: int) -> list[tuple[float, str, int]]:
    """Terms on different decisions: the public program cannot add two terms on one column."""
    names = [name for name, entities in variables.items() if entities]
    found: list[tuple[float, str, int]] = []
    taken: set[tuple[str, int]] = set()
    for name in draw.sample(names, min(count, len(names))):
        entity = draw.choice(variables[name])
        family = name.split("_")[0]
        if (family, entity) not in taken and (
            family != "hydro" or not any(each[0] == family for each in taken)
        ):
            taken.add((family, entity))
            found.append((round(draw.uniform(0.3, 1.5), 2), name, entity))
    return found


def _bounds(draw: Random, case: Case018, low: float, high: float) -> list[dict[str, Any]]:
    rows = []
    for stage, blocks in enumerate(case.hours):
        if draw.random() < 0.3:
            continue
        block = draw.choice((None, None, len(blocks) - 1))
        kind = draw.choice(("lower", "upper", "band", "equal"))
        first = round(draw.uniform(low, high), 2)
        second = first if kind == "equal" else round(first + draw.uniform(0.0, 0.3 * high), 2)
        row: dict[str, Any] = {"stage_id": stage, "block_id": block}
        if kind != "upper":
            row["bound_lower"] = first
        if kind != "lower":
            row["bound_upper"] = second
        rows.append(row)
    return rows or [{"stage_id": 0, "bound_upper": high}]


def _text(terms: list[tuple[float, str, int]]) -> str:
    return " + ".join(f"{factor} * {name}({entity})" for factor, name, entity in terms)


def _plain(draw: Random, case: Case018) -> None:
    """Sums of flows and powers."""
    for _ in range(draw.choice((1, 2))):
        terms = _terms(draw, _flows(case), draw.choice((1, 2, 3)))
        _constrain(draw, case, _text(terms), terms, _bounds(draw, case, 5.0, 60.0))


def _constrain(draw: Random, case: Case018, text: str, terms: list[Any], rows: list[dict[str, Any]]) -> None:
    path = "constraints/generic_constraints.json"
    case.documents.setdefault(path, {"constraints": []})
    number = len(case.documents[path]["constraints"])
    case.constrain(text, rows, round(draw.uniform(5.0, 300.0), 1))
    case.meanings[number] = terms


def _stocks(draw: Random, case: Case018) -> None:
    """Storages and useful volumes."""
    hydros = case.documents["system/hydros.json"]["hydros"]
    plant = draw.choice(hydros)
    name = draw.choice(("hydro_storage", "hydro_storage_final", "hydro_useful_volume_final"))
    terms: list[Any] = [(1.0, name, plant["id"])]
    if draw.random() < 0.4:
        terms.append((-0.5, "hydro_storage_initial", plant["id"]))
    high = 0.7 * plant["reservoir"]["max_storage_hm3"]
    text = " ".join(
        f"{'+' if factor > 0 else '-'} {abs(factor)} * {each}({entity})" for factor, each, entity in terms
    )
    _constrain(draw, case, text.removeprefix("+ "), terms, _bounds(draw, case, 10.0, high))


def _parameters(draw: Random, case: Case018) -> None:
    """Coefficients that are parameters, a named expression, and a right side in the text."""
    stages, thermals = range(len(case.hours)), _entities(case, "system/thermals.json", "thermals")
    values = [round(draw.uniform(0.4, 1.4), 2) for _ in stages]
    by_block = [
        [stage, block, round(draw.uniform(0.4, 1.4), 2)]
        for stage in stages
        for block in range(len(case.hours[stage]))
    ]
    scalars = [
        {"id": 0, "name": "fixed", "kind": "constant", "value": 0.75},
        {
            "id": 1,
            "name": "staged",
            "kind": "per_stage",
            "values": [[stage, values[stage]] for stage in stages],
        },
        {"id": 2, "name": "blocked", "kind": "per_stage_block", "block_values": by_block},
    ]
    case.documents[PARAMETERS] = {"scalar_parameters": scalars}
    factors: dict[str, Callable[[int, int], float]] = {
        "fixed": lambda _stage, _block: 0.75,
        "staged": lambda stage, _block: values[stage],
        "blocked": lambda stage, block: next(each[2] for each in by_block if each[:2] == [stage, block]),
    }
    name, thermal = draw.choice(list(factors)), draw.choice(thermals)
    hydros = _entities(case, "system/hydros.json", "hydros")
    hydro, right = draw.choice(hydros), round(draw.uniform(45.0, 70.0), 1)  # above every lower bound
    path = "constraints/generic_constraints.json"
    case.documents.setdefault(path, {"constraints": []})["expressions"] = [
        {"name": "water", "expression": f"0.4 * hydro_outflow({hydro})"}
    ]
    rows = [{**row} for row in _bounds(draw, case, 5.0, 40.0)]
    number = len(case.documents[path]["constraints"])
    text = f"@{name} * thermal_generation({thermal}) + 2 * @water <= {right}"
    case.constrain(text, rows, round(draw.uniform(5.0, 300.0), 1))
    case.meanings[number] = [
        (factors[name], "thermal_generation", thermal),
        (0.8, "hydro_outflow", hydro),
    ]
    case.right_sides[number] = right


ELEMENTS: dict[str, Callable[[Random, Case018], None]] = {
    "plain_constraints": _plain,
    "stock_constraints": _stocks,
    "parameters": _parameters,
}
