"""``system/tailrace_curves.parquet``: height of the tail water by segments of outflow and level of the plant below."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

COEFFICIENTS = tuple(f"coefficient_{power}" for power in range(5))
"""Columns of the polynomial of a segment, the constant first."""

FILE = TableFile(
    "system/tailrace_curves.parquet",
    "tailrace_curves",
    (
        id_column("hydro_id", "hydro"),
        Column("family_id", "int"),
        Column("downstream_reference_level_m", "float", is_nullable=True),
        Column("segment_id", "int"),
        number("outflow_min_m3s", 0.0),
        number("outflow_max_m3s", 0.0),
        *(number(name) for name in COEFFICIENTS),
    ),
    ("hydro_id", "family_id", "segment_id"),
)
