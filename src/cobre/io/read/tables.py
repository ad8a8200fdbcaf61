"""Parquet files: columns found by name, converted without loss, checked value by value, sorted by key.

A row that is wrong is reported and left out, so that the later layers can still look at the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.io.parquet import read_parquet
from cobre.io.problems import Problems
from cobre.io.read.columns import ABSENT, TYPE_NAMES, Column, Table, TableFile
from cobre.io.read.records import HUGE
from cobre.io.spelling import nearest

UNITS = frozenset({"hm3", "km2", "m", "m3s", "mw", "mwh"})
"""Endings of columns that say in what their numbers are."""

EARLIEST, LATEST = np.datetime64("0001-01-01"), np.datetime64("9998-12-31")
"""Dates between which a year may be counted on or back."""

FORMER_NAMES = {
    "bound": ("bound_lower", "bound_upper"),
    "date": ("start_date", "end_date"),
    "filling_inflow_m3s": ("filling_min_rate_m3s",),
    "fpha_turbined_cost": ("turbined_cost",),
}
"""Columns of 0.5.1 that 0.18 would lose without a word, and what they are called now."""


def read_table(
    folder: Path, file: TableFile, problems: Problems, *, is_018: bool = False
) -> tuple[Table, bool]:
    """The usable rows, sorted by key, and whether they are all that the file has."""
    arrow = _open(folder / file.path, file.path, problems)
    if arrow is None:
        return file.empty(), False
    file = file.matching(arrow.column_names)
    known = {column.name for column in file.columns}
    unknown = [name for name in arrow.column_names if name not in known]
    for name in unknown:
        if is_018 and name in FORMER_NAMES:
            problems.error(
                "SchemaViolation",
                file.path,
                f"column {name} is of 0.5.1; this case is one of 0.18",
                f"write {' and '.join(FORMER_NAMES[name])}"
                + ", the first day of each record and the day after its last one" * (name == "date"),
                field=name,
                value=str(arrow.schema.field(arrow.column_names.index(name)).type),
            )
            continue
        near = nearest(name, known)
        problems.warn(
            "SchemaViolation",
            file.path,
            f"column {name} is not known; it is ignored",
            f"rename it to {near} if that is meant" if near else f"use columns of {', '.join(sorted(known))}",
            field=name,
            value=str(arrow.schema.field(arrow.column_names.index(name)).type),
        )
    repeated = sorted({name for name in arrow.column_names if arrow.column_names.count(name) > 1} & known)
    for name in repeated:
        problems.error(
            "SchemaViolation",
            file.path,
            f"has column {name} twice",
            "keep one of the two",
            field=name,
            value=name,
        )
    if repeated:
        return file.empty(), False
    former = {now for name in unknown if is_018 for now in FORMER_NAMES.get(name, ())}
    columns = {}
    for column in file.columns:
        if column.name in former and column.name not in arrow.column_names and not column.is_optional:
            continue  # said above
        values = _convert(arrow, column, unknown, file.path, problems)
        if values is not None:
            columns[column.name] = values
    if len(columns) < len(file.columns):
        return file.empty(), False
    table = Table(file, columns)
    good = _check_values(table, arrow, problems)
    rest = table.take(good)
    rest = rest.take(np.lexsort([rest[name] for name in reversed(file.key)]))
    is_unique = _check_unique(rest, problems)
    return rest, bool(good.all()) and is_unique


def _open(path: Path, name: str, problems: Problems) -> pa.Table | None:
    size = path.stat().st_size
    try:
        return read_parquet(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        problems.error(
            "ParseError",
            name,
            f"is no readable Parquet file ({size} bytes): {str(error).splitlines()[0][:120]}",
            "write the file again; it may have been cut off while it was copied",
            value=size,
        )
    return None


def _renaming(found: str, wanted: str) -> str:
    """How ``found`` becomes the column ``wanted``; a name with another unit has other numbers."""
    units = [name.casefold().rpartition("_")[2] for name in (found, wanted)]
    if units[0] != units[1] and UNITS.issuperset(units):
        return f"convert {found} from {units[0]} to {units[1]} and name the column {wanted}"
    return f"rename {found} to {wanted}"


def _convert(
    arrow: pa.Table, column: Column, unknown: Sequence[str], file: str, problems: Problems
) -> NDArray[Any] | None:
    if column.name not in arrow.column_names:
        if column.is_optional:
            return column.blank(arrow.num_rows)
        near = nearest(column.name, unknown)
        problems.error(
            "SchemaViolation",
            file,
            f"column {column.name} is missing; the file has {', '.join(arrow.column_names) or 'no columns'}",
            _renaming(near, column.name)
            if near
            else f"add column {column.name} of type {TYPE_NAMES[column.kind]}",
            field=column.name,
            value=arrow.column_names,
        )
        return None
    values = arrow.column(column.name)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        return _to_numpy(values, column)
    except (pa.ArrowException, TypeError) as error:
        reason = f" ({str(error).splitlines()[0][:100]})" if isinstance(error, pa.ArrowInvalid) else ""
        problems.error(
            "TypeMismatch",
            file,
            f"column {column.name} has type {values.type} where {TYPE_NAMES[column.kind]} is wanted{reason}",
            f"write column {column.name} as {TYPE_NAMES[column.kind]}",
            field=column.name,
            value=str(values.type),
        )
    return None


def _to_numpy(values: pa.ChunkedArray, column: Column) -> NDArray[Any]:
    """The values as NumPy has them; Arrow's own conversions need `pyarrow.compute`, which is slow to import."""
    types = pa.types
    if types.is_null(values.type):
        return column.blank(len(values))
    is_number = types.is_integer(values.type) or types.is_floating(values.type)
    if column.kind == "date":
        if not (types.is_date(values.type) or types.is_timestamp(values.type)):
            raise TypeError
        if types.is_date32(values.type):
            return np.array(values.to_numpy(), "datetime64[D]")
        days = values.cast(pa.date32()).cast(pa.int32()).fill_null(0).to_numpy()
        dates = days.astype("datetime64[D]")
        dates[_nulls(values)] = np.datetime64("NaT")
        return np.asarray(dates)
    if not is_number:
        raise TypeError
    if column.kind == "int":
        if types.is_signed_integer(values.type) and not values.null_count:
            return np.array(values.to_numpy(), np.int64)
        whole = values.cast(pa.int64())  # refuses 1.5 and what does not fit
        return np.asarray(whole.fill_null(ABSENT).to_numpy(), np.int64)
    return np.array(values.to_numpy(), np.float64)


def _nulls(values: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Which values are null."""
    if not values.null_count:
        return np.zeros(len(values), bool)
    return np.concatenate([_nulls_of_chunk(chunk) for chunk in values.chunks])


def _nulls_of_chunk(chunk: pa.Array) -> NDArray[np.bool_]:
    bitmap = None if pa.types.is_null(chunk.type) else chunk.buffers()[0]
    if bitmap is None:
        return np.full(len(chunk), pa.types.is_null(chunk.type))
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return np.asarray(bits[chunk.offset : chunk.offset + len(chunk)] == 0)


def _check_values(table: Table, arrow: pa.Table, problems: Problems) -> NDArray[np.bool_]:
    good = np.ones(len(table), bool)
    for column in table.file.columns:
        if column.name not in arrow.column_names:
            continue
        values = table[column.name]
        null = _nulls(arrow.column(column.name))
        for row in np.flatnonzero(null) if not column.is_nullable else ():
            _bad(table, column, int(row), None, "SchemaViolation", "is null", "give a value", problems)
            good[row] = False
        if column.kind == "date":
            for row in np.flatnonzero(((values < EARLIEST) | (values > LATEST)) & ~null):
                text, remedy = (
                    f"is {values[row]}, which no calendar has",
                    f"give a date of {EARLIEST} to {LATEST}",
                )
                _bad(table, column, int(row), str(values[row]), "OutOfRange", text, remedy, problems)
                good[row] = False
            continue
        outside = _outside(values, column) & ~null
        for row in np.flatnonzero(outside):
            value = values[row].item()
            if column.kind == "float" and not np.isfinite(value):
                text, remedy = (
                    f"is {value}",
                    "give a finite number" + (", or null for none" if column.is_nullable else ""),
                )
            else:
                wanted = column.range_text() if column.kind == "float" else "a 32-bit whole number"
                if abs(value) > HUGE:
                    wanted = f"of a size below {HUGE:g}"
                text, remedy = f"is {value!r}, not {wanted}", f"give a value {wanted}"
            _bad(table, column, int(row), value, "OutOfRange", text, remedy, problems)
            good[row] = False
    return good


def _outside(values: NDArray[Any], column: Column) -> NDArray[np.bool_]:
    if column.kind == "int":
        return np.asarray((values < -(2**31)) | (values > 2**31 - 1))
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values)
        if not column.name.startswith("max_"):
            bad |= np.abs(values) > HUGE
        if column.low is not None:
            bad |= (values <= column.low) if column.excludes_low else (values < column.low)
        if column.high is not None:
            bad |= values > column.high
    return np.asarray(bad)


def _bad(
    table: Table,
    column: Column,
    row: int,
    value: Any,
    kind: str,
    text: str,
    remedy: str,
    problems: Problems,
) -> None:
    problems.error(kind, table.at(row, column.name, value), f"{column.name} {text}", remedy)


def _check_unique(table: Table, problems: Problems) -> bool:
    if len(table) < 2:
        return True
    same = np.ones(len(table) - 1, bool)
    for name in table.file.key:
        same &= table[name][1:] == table[name][:-1]
    key = ", ".join(table.file.key)
    for row in np.flatnonzero(same):
        problems.error(
            "DuplicateId",
            table.at(int(row), key, [_plain(table[name][row]) for name in table.file.key]),
            f"two rows have the same {key}",
            "keep one of the rows",
        )
    return not same.any()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, np.datetime64) else value.item()
