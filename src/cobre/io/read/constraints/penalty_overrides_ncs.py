"""``constraints/penalty_overrides_ncs.parquet``: prices of curtailment that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/penalty_overrides_ncs.parquet",
    "ncs_penalties",
    (
        id_column("ncs_id", "non-controllable source"),
        id_column("stage_id", "stage"),
        override("curtailment_cost", 0.0),
    ),
    ("ncs_id", "stage_id"),
)
