"""``constraints/pumping_bounds.parquet``: limits of pumping stations that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/pumping_bounds.parquet",
    "pumping_bounds",
    (
        id_column("station_id", "pumping station"),
        id_column("stage_id", "stage"),
        override("min_m3s", 0.0),
        override("max_m3s", 0.0),
    ),
    ("station_id", "stage_id"),
)
