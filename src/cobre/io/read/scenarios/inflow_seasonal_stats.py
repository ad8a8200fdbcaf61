"""``scenarios/inflow_seasonal_stats.parquet``: mean and deviation of inflows, pre-study stages included."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, number

FILE = TableFile(
    "scenarios/inflow_seasonal_stats.parquet",
    "inflow_stats",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "any stage"),
        number("mean_m3s"),
        number("std_m3s", 0.0),
    ),
    ("hydro_id", "stage_id"),
)
