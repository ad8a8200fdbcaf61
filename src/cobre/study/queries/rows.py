"""Rows of the tables of a simulation: filtered, in pages, read only as far as they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cobre.errors import IOError, ValidationError
from cobre.io.parquet import read_parquet
from cobre.io.simulation_results import NAMED_BY, SCHEMAS, SimulationFiles, with_names

__all__ = ["TABLES", "Page", "RowFilter", "page_of_rows", "pieces_of_rows", "table_name"]

ALIASES = {"lines": "exchanges"}
TABLES = tuple(SCHEMAS)


@dataclass(frozen=True)
class RowFilter:
    """Which rows and columns of a table are wanted; None leaves nothing out."""

    entity_id: int | None = None
    stages: tuple[int, int] | None = None
    """First and last stage id."""
    scenarios: tuple[int, int] | None = None
    columns: Sequence[str] | None = None


@dataclass(frozen=True)
class Page:
    """Some rows, and how many there are in all."""

    rows: pa.Table
    total: int


def table_name(name: str) -> str:
    """The table that is meant, by its own name or that of its entities."""
    found = ALIASES.get(name, name)
    if found not in SCHEMAS:
        raise ValidationError(
            f"there is no table {name[:60]!r}",
            kind="InvalidEnum",
            suggestion=f"use one of {', '.join((*SCHEMAS, *ALIASES))}",
        )
    return found


def page_of_rows(files: SimulationFiles, name: str, wanted: RowFilter, offset: int, limit: int) -> Page:
    """Rows ``offset`` to ``offset + limit`` of those that are wanted, in the order of scenarios."""
    found: list[pa.Table] = []
    missing, skipped, total = limit, offset, 0
    per_scenario: int | None = None
    paths = _paths(files, name, wanted)
    by_scenario = _is_by_scenario(paths)
    for path in paths:
        if by_scenario and per_scenario is not None and (missing == 0 or skipped >= per_scenario):
            total += per_scenario  # every scenario has the same rows
            skipped = max(0, skipped - per_scenario)
            continue
        rows = _read(files, name, path, wanted)
        per_scenario = len(rows)
        total += len(rows)
        part = rows.slice(min(skipped, len(rows)), missing)
        skipped = max(0, skipped - len(rows))
        missing -= len(part)
        found.append(part)
    if not found:
        return Page(_read(files, name, files.files(name)[0], wanted).slice(0, 0), 0)
    return Page(with_names(files, pa.concat_tables(found)), total)


def pieces_of_rows(files: SimulationFiles, name: str, wanted: RowFilter) -> Iterator[pa.Table]:
    """All wanted rows, file by file; at least one piece, which may be empty."""
    paths = _paths(files, name, wanted)
    if not paths:
        yield with_names(files, _read(files, name, files.files(name)[0], wanted).slice(0, 0))
    for path in paths:
        yield with_names(files, _read(files, name, path, wanted))


def _paths(files: SimulationFiles, name: str, wanted: RowFilter) -> list[Path]:
    paths = files.files(name)
    if not paths:
        raise IOError(
            str(files.root / name),
            f"this simulation has no table {name!r}",
            suggestion=f"the tables are: {', '.join(files.tables) or 'none: simulate first'}",
        )
    files.check_columns(name, wanted.columns or ())
    if wanted.scenarios is None or not _is_by_scenario(paths):
        return paths
    first, last = wanted.scenarios
    return [path for path in paths if first <= int(path.parent.name.partition("=")[2]) <= last]


def _is_by_scenario(paths: Sequence[Path]) -> bool:
    return bool(paths) and paths[0].parent.name.startswith("scenario_id=")


def _read(files: SimulationFiles, name: str, path: Path, wanted: RowFilter) -> pa.Table:
    """The wanted rows and columns of one file; ids stay, because names are found by them."""
    keys = [
        key for key in SCHEMAS[name].column_names if key in (*NAMED_BY, "scenario_id", "stage_id", "block_id")
    ]
    columns = None if wanted.columns is None else list(dict.fromkeys([*keys, *wanted.columns]))
    try:
        table = read_parquet(path, columns)
    except OSError as error:
        raise IOError(str(path), f"cannot read table {name}: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise ValidationError(
            f"table {name} is damaged", kind="ParseError", suggestion="simulate again"
        ) from error
    return _filtered(table, name, wanted)


def _filtered(table: pa.Table, name: str, wanted: RowFilter) -> pa.Table:
    masks: list[Any] = []
    for column, limits in (("stage_id", wanted.stages), ("scenario_id", wanted.scenarios)):
        if limits is not None and column in table.column_names:
            masks += [pc.greater_equal(table[column], limits[0]), pc.less_equal(table[column], limits[1])]
    if wanted.entity_id is not None:
        entity = next((key for key in NAMED_BY if key in table.column_names), None)
        if entity is None:
            raise ValidationError(
                f"table {name} has no entities", kind="IncompatibleSettings", suggestion="leave out entity_id"
            )
        masks.append(pc.equal(table[entity], wanted.entity_id))
    for mask in masks[1:]:
        masks[0] = pc.and_(masks[0], mask)
    return table.filter(masks[0]) if masks else table
