"""``scenarios/inflow_history.parquet``: observed inflows, each the mean of some days."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/inflow_history.parquet",
    "inflow_history",
    (
        id_column("hydro_id", "hydro"),
        Column("start_date", "date"),
        Column("end_date", "date"),
        number("value_m3s"),
    ),
    ("hydro_id", "start_date"),
)
"""``end_date`` is the day after the last one."""
