"""What a Parquet file of the format is made of: columns, keys, and the table that reading gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cobre.io.problems import Place

ABSENT = int(np.iinfo(np.int64).min)
"""What a null becomes in a column of whole numbers; in a column of numbers it becomes NaN."""

TYPE_NAMES = {"int": "INT32", "float": "DOUBLE", "date": "DATE"}


@dataclass(frozen=True)
class Column:
    """One column: its type, whether values or the whole of it may be missing, and the range of values."""

    name: str
    kind: Literal["int", "float", "date"]
    is_nullable: bool = False
    is_optional: bool = False
    refers_to: str = ""
    """Kind of entity that an id must belong to."""
    low: float | None = None
    high: float | None = None
    excludes_low: bool = False
    meaning: str = ""
    older_name: str = ""
    """Its name in the file, where that is of an older format; messages use it."""

    @property
    def written_name(self) -> str:
        """The name that stands in the file."""
        return self.older_name or self.name

    def blank(self, length: int) -> NDArray[Any]:
        """A column of nulls."""
        if self.kind == "int":
            return np.full(length, ABSENT, np.int64)
        return np.full(length, np.nan) if self.kind == "float" else np.full(length, "NaT", "datetime64[D]")

    def range_text(self) -> str:
        """The allowed values in words."""
        parts = []
        if self.low is not None:
            parts.append(f"{'above' if self.excludes_low else 'at least'} {self.low:g}")
        if self.high is not None:
            parts.append(f"at most {self.high:g}")
        return " and ".join(parts) or "a finite number"


def id_column(name: str, refers_to: str, *, is_nullable: bool = False, is_optional: bool = False) -> Column:
    """A column of entity or stage ids."""
    return Column(name, "int", is_nullable, is_optional, refers_to)


def number(
    name: str, low: float | None = None, high: float | None = None, *, excludes_low: bool = False
) -> Column:
    """A column of numbers that every row must have."""
    return Column(name, "float", low=low, high=high, excludes_low=excludes_low)


def override(name: str, low: float | None = None) -> Column:
    """A column of numbers that replace a base value where they are given."""
    return Column(name, "float", is_nullable=True, is_optional=True, low=low)


def block_column() -> Column:
    """The block that a row is about; null means the whole stage."""
    return Column("block_id", "int", is_nullable=True, is_optional=True)


@dataclass(frozen=True)
class TableFile:
    """A Parquet file of the case directory. Rows are unique and sorted by ``key``."""

    path: str
    attribute: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    alternatives: tuple[TableFile, ...] = ()
    """Other sets of columns that the file may have instead."""

    def matching(self, names: Sequence[str]) -> TableFile:
        """This set of columns, or the alternative that a file with columns of these ``names`` has."""
        for file in (self, *self.alternatives):
            if {column.name for column in file.columns if not column.is_optional} <= set(names):
                return file
        return self

    def empty(self) -> Table:
        """The table of a file that is not there."""
        return Table(self, {column.name: column.blank(0) for column in self.columns})


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length; see `ABSENT` for nulls."""

    file: TableFile
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns[self.file.columns[0].name])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def label(self, row: int) -> str:
        """The label of a row in messages: the values of its key."""
        parts = []
        for name in self.file.key:
            value = self.columns[name][row]
            if not (self.columns[name].dtype.kind == "i" and value == ABSENT):
                parts.append(f"{name.removesuffix('_id').replace('_', ' ')} {value}")
        return ", ".join(parts)

    def at(self, row: int, field: str, value: Any) -> Place:
        """The place of a problem in a row."""
        return Place(self.file.path, self.label(row), field, value)

    def take(self, rows: NDArray[Any]) -> Table:
        """The rows that an index or mask selects."""
        return Table(self.file, {name: values[rows] for name, values in self.columns.items()})
