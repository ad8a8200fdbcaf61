"""``constraints/hydro_bounds.parquet``: limits of hydros that differ in a stage or block, and water withdrawals."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/hydro_bounds.parquet",
    "hydro_bounds",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "stage"),
        block_column(),
        override("min_turbined_m3s", 0.0),
        override("max_turbined_m3s", 0.0),
        override("min_storage_hm3", 0.0),
        override("max_storage_hm3", 0.0),
        override("min_outflow_m3s", 0.0),
        override("max_outflow_m3s", 0.0),
        override("min_generation_mw", 0.0),
        override("max_generation_mw", 0.0),
        override("min_diversion_m3s", 0.0),
        override("max_diversion_m3s", 0.0),
        override("min_spillage_m3s", 0.0),
        override("max_spillage_m3s", 0.0),
        override("filling_min_rate_m3s", 0.0),
        override("water_withdrawal_m3s"),
    ),
    ("hydro_id", "stage_id", "block_id"),
)
