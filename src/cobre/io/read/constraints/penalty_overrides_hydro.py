"""``constraints/penalty_overrides_hydro.parquet``: prices at hydros that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override
from cobre.io.read.system.hydros import HydroPenaltyOverrides

FILE = TableFile(
    "constraints/penalty_overrides_hydro.parquet",
    "hydro_penalties",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "stage"),
        *(override(name, 0.0) for name in HydroPenaltyOverrides.model_fields),
    ),
    ("hydro_id", "stage_id"),
)
