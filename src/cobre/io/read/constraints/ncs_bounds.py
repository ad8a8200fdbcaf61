"""``constraints/ncs_bounds.parquet``: installed power of non-controllable sources that differs in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/ncs_bounds.parquet",
    "ncs_bounds",
    (
        id_column("ncs_id", "non-controllable source"),
        id_column("stage_id", "stage"),
        override("available_generation_mw", 0.0),
    ),
    ("ncs_id", "stage_id"),
)
