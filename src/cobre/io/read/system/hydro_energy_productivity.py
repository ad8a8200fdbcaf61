"""``system/hydro_energy_productivity.parquet``: what the water of hydros is worth in power, where it is given."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column

FILE = TableFile(
    "system/hydro_energy_productivity.parquet",
    "energy_productivity",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "stage", is_nullable=True),
        Column("equivalent_productivity_mw_per_m3s", "float", is_nullable=True, low=0.0),
        Column("reference_outflow_m3s", "float", is_nullable=True, low=0.0),
        Column("specific_productivity_mw_per_m3s_per_m", "float", is_nullable=True, low=0.0),
    ),
    ("hydro_id", "stage_id"),
)
