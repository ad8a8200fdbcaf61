"""``constraints/hydro_bounds.parquet``: limits of hydros that differ in a stage, and water withdrawals."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/hydro_bounds.parquet",
    "hydro_bounds",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "stage"),
        override("min_turbined_m3s", 0.0),
        override("max_turbined_m3s", 0.0),
        override("min_storage_hm3", 0.0),
        override("max_storage_hm3", 0.0),
        override("min_outflow_m3s", 0.0),
        override("max_outflow_m3s", 0.0),
        override("min_generation_mw", 0.0),
        override("max_generation_mw", 0.0),
        override("max_diversion_m3s", 0.0),
        override("filling_inflow_m3s"),
        override("water_withdrawal_m3s"),
    ),
    ("hydro_id", "stage_id"),
)
