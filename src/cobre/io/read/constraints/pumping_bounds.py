"""``constraints/pumping_bounds.parquet``: limits of pumping stations that differ in a stage or block."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/pumping_bounds.parquet",
    "pumping_bounds",
    (
        id_column("pumping_station_id", "pumping station"),
        id_column("stage_id", "stage"),
        block_column(),
        override("min_m3s", 0.0),
        override("max_m3s", 0.0),
    ),
    ("pumping_station_id", "stage_id", "block_id"),
)
