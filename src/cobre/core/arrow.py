"""Tables of `cobre.core.outputs` as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.core.outputs import Column, TableSchema

ARROW_TYPES = {
    "i8": pa.int8(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f64": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
    "date": pa.date32(),
}

PLAIN_NUMBERS = ("i8", "i32", "i64", "u32", "u64", "f64")
"""Types whose values Arrow keeps as NumPy does."""


def arrow_schema(schema: TableSchema) -> pa.Schema:
    """The schema of the file."""
    return pa.schema([pa.field(c.name, ARROW_TYPES[c.type], nullable=c.is_nullable) for c in schema])


def arrow_column(column: Column, values: NDArray[Any] | Sequence[Any]) -> pa.Array:
    """The values in the column's type; NaN is null where the column may be null."""
    arrow_type = ARROW_TYPES[column.type]
    if not isinstance(values, np.ndarray):
        return pa.array(values, type=arrow_type)
    is_null = None
    if column.is_nullable and values.dtype.kind == "f":
        is_null = np.isnan(values)
        if arrow_type != pa.float64():
            values = np.where(is_null, 0, values).astype(arrow_type.to_pandas_dtype())
    if column.type == "date":
        return _from_memory(values.astype(np.int32), arrow_type, is_null)  # days since 1970
    if column.type in PLAIN_NUMBERS and values.dtype == arrow_type.to_pandas_dtype():
        return _from_memory(values, arrow_type, is_null)
    return pa.array(values, type=arrow_type, mask=is_null)


def _from_memory(
    values: NDArray[Any], arrow_type: pa.DataType, is_null: NDArray[np.bool_] | None
) -> pa.Array:
    """The same as `pyarrow.array` of numbers, which imports all of `numpy.ma`."""
    bitmap = None
    if is_null is not None and is_null.any():
        bitmap = pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes())
    memory = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(arrow_type, len(values), [bitmap, memory])


def arrow_table(schema: TableSchema, columns: Mapping[str, NDArray[Any] | Sequence[Any]]) -> pa.Table:
    """A table of all columns of ``schema``."""
    arrays = [arrow_column(column, columns[column.name]) for column in schema]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))
