"""``constraints/generic_constraint_bounds.parquet``: where generic constraints hold, and between which bounds."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/generic_constraint_bounds.parquet",
    "constraint_bounds",
    (
        id_column("constraint_id", "generic constraint"),
        id_column("stage_id", "stage"),
        block_column(),
        override("bound_lower"),
        override("bound_upper"),
    ),
    ("constraint_id", "stage_id", "block_id"),
)
