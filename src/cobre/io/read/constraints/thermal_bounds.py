"""``constraints/thermal_bounds.parquet``: limits and costs of thermals that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, override

FILE = TableFile(
    "constraints/thermal_bounds.parquet",
    "thermal_bounds",
    (
        id_column("thermal_id", "thermal"),
        id_column("stage_id", "stage"),
        Column("block_id", "int", is_nullable=True, is_optional=True),
        override("min_generation_mw", 0.0),
        override("max_generation_mw", 0.0),
        override("cost_per_mwh", 0.0),
    ),
    ("thermal_id", "stage_id", "block_id"),
)
