"""``scenarios/inflow_history.parquet``: observed inflows."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/inflow_history.parquet",
    "inflow_history",
    (
        id_column("hydro_id", "hydro"),
        Column("date", "date"),
        number("value_m3s"),
    ),
    ("hydro_id", "date"),
)
