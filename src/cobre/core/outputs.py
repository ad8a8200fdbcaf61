"""The tables that a run writes: their columns, types, units and meanings, in file order.

Names and types are those of the public Cobre, so that programs that read its results read ours. Everything that is
written, documented (``variables.csv``) or read back takes its columns from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

ColumnType = Literal["i8", "i32", "i64", "u32", "u64", "f64", "bool", "str", "date"]
TYPES = get_args(ColumnType)
ROWS = {"": (False, False), "stage": (True, False), "end": (True, True)}
"""What a listing says after ``@``: whether a column is of the stage, and whether of its last block."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    type: ColumnType
    unit: str
    description: str
    is_nullable: bool = False
    is_of_stage: bool = False
    """Whether one row speaks for the stage: rows of parallel blocks repeat one value."""
    is_at_end: bool = False
    """Whether it is the row of the last block, not of the first: they differ where blocks are chronological."""

    @property
    def adds_up(self) -> bool:
        """Whether the values of blocks add up to that of the stage; otherwise hours weigh them."""
        return self.unit in ("$", "MWh", "hm3")


@dataclass(frozen=True)
class TableSchema:
    """One table; ``name`` is its folder (or file) below ``simulation`` or ``training``."""

    name: str
    columns: tuple[Column, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)


def table(name: str, *parts: Iterable[Column] | str) -> TableSchema:
    """A table whose columns are the given groups of columns, one after the other; a text is a listing of `columns`."""
    groups = [columns(part) if isinstance(part, str) else part for part in parts]
    return TableSchema(name, tuple(column for group in groups for column in group))


def columns(listing: str) -> tuple[Column, ...]:
    """Columns as a listing: name, unit and description, a line each.

    The unit may be a type instead (``i32``), or both (``i64:ms``); without a type it is of numbers, ``-`` is no unit.
    After it ``?`` says that values may be missing, ``@stage`` and ``@end`` as `Column.is_of_stage` and `is_at_end` do.

    >>> [(each.name, each.type, each.unit, each.is_nullable) for each in columns("load_mw MW? demand of the bus")]
    [('load_mw', 'f64', 'MW', True)]
    """
    return tuple(_column(*line.split(maxsplit=2)) for line in listing.strip().splitlines())


def _column(name: str, unit: str, description: str) -> Column:
    unit, _, rows = unit.partition("@")
    is_of_stage, is_at_end = ROWS[rows]
    kind, _, measure = unit.removesuffix("?").rpartition(":")
    if measure in TYPES:
        kind, measure = measure, ""
    return Column(
        name,
        cast(ColumnType, kind or "f64"),
        measure.replace("-", ""),
        " ".join(description.split()),
        unit.endswith("?"),
        is_of_stage,
        is_at_end,
    )
