"""``constraints/hydro_unit_group_bounds.parquet``: limits of unit groups that differ in a stage or block."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/hydro_unit_group_bounds.parquet",
    "unit_group_bounds",
    (
        id_column("hydro_id", "hydro"),
        Column("hydro_unit_group_id", "int"),
        id_column("stage_id", "stage"),
        block_column(),
        override("min_turbined_m3s", 0.0),
        override("max_turbined_m3s", 0.0),
        override("min_generation_mw", 0.0),
        override("max_generation_mw", 0.0),
    ),
    ("hydro_id", "hydro_unit_group_id", "stage_id", "block_id"),
)
