"""``system/fpha_hyperplanes.parquet``: planes above the production of hydros."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number, override

FILE = TableFile(
    "system/fpha_hyperplanes.parquet",
    "hyperplanes",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "stage", is_nullable=True, is_optional=True),
        Column("plane_id", "int"),
        number("gamma_0"),
        number("gamma_v", 0.0),
        number("gamma_q", 0.0),
        number("gamma_s", None, 0.0),
        Column("kappa", "float", True, True, low=0.0, high=1.0, excludes_low=True),
        override("valid_v_min_hm3"),
        override("valid_v_max_hm3"),
        override("valid_q_max_m3s"),
    ),
    ("hydro_id", "stage_id", "plane_id"),
)
