"""Generic constraints as they were understood: every row of every stage with its terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf
from pathlib import Path
from typing import Any

from cobre.core.arrow import arrow_table
from cobre.core.case import Case
from cobre.core.constraint_tables import RESOLVED_CONSTRAINTS
from cobre.core.entities import ConstraintTerm, GenericConstraint, Identified, System
from cobre.files import write_atomically
from cobre.io.write.parquet import parquet_bytes

FOLDER = "generic_constraints"
BY_BUS = ("hydro_turbined", "hydro_generation")
"""Variables of plants whose units may be at several buses."""


def write_generic_constraints(folder: Path, case: Case) -> None:
    """Write ``generic_constraints/resolved_echo.parquet`` if the case has such constraints."""
    rows = list(_rows(case))
    if rows:
        columns = {
            name: list(values)
            for name, values in zip(RESOLVED_CONSTRAINTS.column_names, zip(*rows, strict=True), strict=True)
        }
        path = folder / FOLDER / f"{RESOLVED_CONSTRAINTS.name}.parquet"
        write_atomically(path, parquet_bytes(arrow_table(RESOLVED_CONSTRAINTS, columns)))


def _rows(case: Case) -> Iterator[tuple[Any, ...]]:
    bounds, system = case.tables.constraint, case.system
    entries = zip(
        bounds.constraint.tolist(),
        bounds.stage.tolist(),
        bounds.block.tolist(),
        bounds.lower.tolist(),
        bounds.upper.tolist(),
        strict=True,
    )
    for index, stage, block, lower, upper in entries:
        constraint = system.generic_constraints[index]
        named = None if block < 0 else block
        place = (case.horizon.stages[stage].id, named, constraint.id, constraint.name)
        limits = _limits(constraint, lower, upper)
        column = int(case.horizon.block_offsets[stage]) + max(block, 0)
        for number, term in enumerate(constraint.terms):
            text, factor = _text(term, system), term.coefficient
            if term.parameter is not None:
                factor *= float(bounds.parameters[term.parameter, column])
            yield (*place, number, term.variable, text, factor, *limits)


def _limits(constraint: GenericConstraint, lower: float, upper: float) -> tuple[Any, ...]:
    if isinf(upper):
        shape = "floor"
    elif isinf(lower):
        shape = "cap"
    else:
        shape = "equality" if lower == upper else "band"
    penalty = constraint.slack_penalty
    return (
        None if isinf(lower) else lower,
        None if isinf(upper) else upper,
        shape,
        penalty is not None,
        penalty,
    )


def _text(term: ConstraintTerm, system: System) -> str:
    """As in ``hydro_turbined(id=0, bus=all, block=all)``."""
    from cobre.io.read.constraints.expression import STAGE_VARIABLES  # brings all that reads a case

    parts = [f"id={_entities(term.variable, system)[term.entity].id}"]
    if term.variable in BY_BUS:
        parts.append(f"bus={'all' if term.bus is None else system.buses[term.bus].id}")
    if term.variable not in STAGE_VARIABLES:
        parts.append(f"block={'all' if term.block is None else term.block}")
    return f"{term.variable}({', '.join(parts)})"


def _entities(variable: str, system: System) -> Sequence[Identified]:
    from cobre.io.read.constraints.expression import VARIABLES

    kinds: dict[str, Sequence[Identified]] = {
        "hydro": system.hydros,
        "thermal": system.thermals,
        "bus": system.buses,
        "line": system.lines,
        "pumping station": system.pumping_stations,
        "contract": system.contracts,
        "non-controllable source": system.non_controllables,
    }
    return kinds[VARIABLES[variable]]
