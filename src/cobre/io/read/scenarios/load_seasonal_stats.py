"""``scenarios/load_seasonal_stats.parquet``: mean and deviation of the load at buses."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, number

FILE = TableFile(
    "scenarios/load_seasonal_stats.parquet",
    "load_stats",
    (
        id_column("bus_id", "bus"),
        id_column("stage_id", "stage"),
        number("mean_mw"),
        number("std_mw", 0.0),
    ),
    ("bus_id", "stage_id"),
)
