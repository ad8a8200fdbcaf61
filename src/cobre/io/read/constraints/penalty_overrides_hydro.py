"""``constraints/penalty_overrides_hydro.parquet``: prices at hydros that differ in a stage."""

from __future__ import annotations

from cobre.io.read.system.hydros import HydroPenaltyOverrides
from cobre.io.read.tables import TableFile, id_column, override

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
