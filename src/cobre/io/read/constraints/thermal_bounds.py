"""``constraints/thermal_bounds.parquet``: limits and costs of thermals that differ in a stage or block."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/thermal_bounds.parquet",
    "thermal_bounds",
    (
        id_column("thermal_id", "thermal"),
        id_column("stage_id", "stage"),
        block_column(),
        override("min_generation_mw", 0.0),
        override("max_generation_mw", 0.0),
        override("cost_per_mwh", 0.0),
    ),
    ("thermal_id", "stage_id", "block_id"),
)
