"""``scenarios/inflow_history.parquet``: observed inflows, each with its date or with the days it is the mean of."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

WINDOWS = TableFile(
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

FILE = TableFile(
    "scenarios/inflow_history.parquet",
    "inflow_history",
    (
        id_column("hydro_id", "hydro"),
        Column("date", "date"),
        number("value_m3s"),
    ),
    ("hydro_id", "date"),
    alternatives=(WINDOWS,),
)
