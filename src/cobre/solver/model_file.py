"""Writes a program to a file that other solvers read, with every digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.files import write_atomically
from cobre.solver.template import LpTemplate

__all__ = ["ModelData", "write_model_file"]

Row = tuple[NDArray[np.int32], Floats]


@dataclass(frozen=True)
class ModelData:
    """A program as it was solved: the template after its patches, and the active cuts as rows at the end."""

    column_cost: Floats
    column_lower: Floats
    column_upper: Floats
    row_lower: Floats
    row_upper: Floats
    rows: list[Row]
    column_names: list[str]
    row_names: list[str]

    @classmethod
    def of(
        cls,
        template: LpTemplate,
        patched: Mapping[str, Floats],
        intercepts: Floats,
        coefficients: Floats,
        active: NDArray[np.bool_],
    ) -> ModelData:
        """Put the parts together."""
        starts = template.row_starts
        rows = [(template.column_indices[a:b], template.values[a:b]) for a, b in pairwise(starts.tolist())]
        slots = np.flatnonzero(active)
        theta = np.array([template.future_cost_column], np.int32)
        cut_columns = np.concatenate([theta, template.cut_columns])
        rows += [(cut_columns, np.concatenate([[1.0], -coefficients[slot]])) for slot in slots]
        return cls(
            patched["column_cost"],
            patched["column_lower"],
            patched["column_upper"],
            np.concatenate([patched["row_lower"], intercepts[slots]]),
            np.concatenate([patched["row_upper"], np.full(len(slots), inf)]),
            rows,
            [template.column_name(column) for column in range(template.n_columns)],
            [template.row_name(row) for row in range(template.n_rows)] + [f"cut_{slot}" for slot in slots],
        )


def write_model_file(model: ModelData, path: Path) -> Path:
    """Write ``model`` to ``path``: ``.lp`` or ``.mps``. The file appears whole or not at all."""
    writers = {".lp": _lp_lines, ".mps": _mps_lines}
    if path.suffix not in writers:
        raise ValueError(f"{path.name} ends in {path.suffix!r}\n  fix: end the name with .lp or .mps")
    write_atomically(path, (f"{line}\n".encode("ascii") for line in writers[path.suffix](model)))
    return path


def _lp_lines(model: ModelData) -> Iterator[str]:
    columns, rows = _unique(model.column_names, "x"), _unique(model.row_names, "r")
    yield "Minimize"
    yield from _wrapped(" obj:", np.arange(len(columns)), model.column_cost, columns)
    yield "Subject To"
    for row, (indices, values) in enumerate(model.rows):
        lower, upper = float(model.row_lower[row]), float(model.row_upper[row])
        sides = [("", "=", lower)] if lower == upper else []
        if lower != upper and lower > -inf:
            sides.append(("_lo" if upper < inf else "", ">=", lower))
        if lower != upper and upper < inf:
            sides.append(("_up" if lower > -inf else "", "<=", upper))
        for suffix, relation, side in sides:
            yield from _wrapped(f" {rows[row]}{suffix}:", indices, values, columns)
            yield f"  {relation} {side!r}"
    yield "Bounds"
    yield from _bounds(model, columns, " {} free", " {} = {!r}", _lp_range)
    yield "End"


def _mps_lines(model: ModelData) -> Iterator[str]:
    columns, rows = _unique(model.column_names, "x"), _unique(model.row_names, "r")
    yield "NAME cobre"
    yield "ROWS"
    yield " N obj"
    kinds = []
    for row, name in enumerate(rows):
        lower, upper = model.row_lower[row], model.row_upper[row]
        kinds.append("E" if lower == upper else "G" if lower > -inf else "L" if upper < inf else "N")
        yield f" {kinds[-1]} {name}"
    yield "COLUMNS"
    entries: list[list[tuple[str, float]]] = [[] for _ in columns]
    for row, (indices, values) in enumerate(model.rows):
        for column, value in zip(indices.tolist(), values.tolist(), strict=True):
            entries[column].append((rows[row], value))
    for column, name in enumerate(columns):
        yield f" {name} obj {float(model.column_cost[column])!r}"
        yield from (f" {name} {row} {value!r}" for row, value in entries[column] if value != 0.0)
    yield "RHS"
    for row, name in enumerate(rows):
        side = float(model.row_upper[row] if kinds[row] == "L" else model.row_lower[row])
        if kinds[row] != "N" and side != 0.0:
            yield f" RHS {name} {side!r}"
    yield "RANGES"
    for row, name in enumerate(rows):
        if kinds[row] == "G" and model.row_upper[row] < inf:
            yield f" RNG {name} {float(model.row_upper[row] - model.row_lower[row])!r}"
    yield "BOUNDS"
    yield from _bounds(model, columns, " FR BND {}", " FX BND {} {!r}", _mps_range)
    yield "ENDATA"


def _bounds(
    model: ModelData,
    columns: list[str],
    free: str,
    fixed: str,
    ranged: Callable[[str, float, float], Iterator[str]],
) -> Iterator[str]:
    """The lines that bound columns, in the words of a format."""
    for name, low, high in zip(
        columns, model.column_lower.tolist(), model.column_upper.tolist(), strict=True
    ):
        if low == -inf and high == inf:
            yield free.format(name)
        elif low == high:
            yield fixed.format(name, low)
        else:
            yield from ranged(name, low, high)


def _lp_range(name: str, low: float, high: float) -> Iterator[str]:
    yield f" {_bound(low)} <= {name} <= {_bound(high)}"


def _mps_range(name: str, low: float, high: float) -> Iterator[str]:
    yield f" MI BND {name}" if low == -inf else f" LO BND {name} {low!r}"
    if high < inf:
        yield f" UP BND {name} {high!r}"


def _wrapped(head: str, indices: NDArray[np.integer], values: Floats, names: list[str]) -> Iterator[str]:
    """One term per line: some readers limit a line to 255 characters."""
    yield head
    terms = [
        (column, value) for column, value in zip(indices.tolist(), values.tolist(), strict=True) if value
    ]
    for column, value in terms:
        yield f"  {'-' if value < 0 else '+'} {abs(value)!r} {names[column]}"
    if not terms:
        yield f"  0 {names[0]}"


def _bound(value: float) -> str:
    return ("-inf" if value < 0 else "inf") if value in (-inf, inf) else repr(value)


def _unique(names: list[str], prefix: str) -> list[str]:
    """``names`` with only characters that every reader takes, the index added to those that would be alike."""
    plain = [re.sub(r"[^A-Za-z0-9_.]", "_", name) for name in names]
    # A name like e5 would be read as a number, and one that begins with a digit or a dot as a syntax error.
    plain = [name if re.match(r"[A-Za-df-z_A-DF-Z]", name) else f"{prefix}_{name}" for name in plain]
    seen: dict[str, int] = {}
    for name in plain:
        seen[name] = seen.get(name, 0) + 1
    taken = {name for name, times in seen.items() if times == 1}
    result = []
    for index, name in enumerate(plain):
        unique = name if seen[name] == 1 else f"{name}__{index}"
        while seen[name] > 1 and unique in taken:
            unique += "_"
        taken.add(unique)
        result.append(unique)
    return result
