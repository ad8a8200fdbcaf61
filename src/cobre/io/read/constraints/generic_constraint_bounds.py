"""``constraints/generic_constraint_bounds.parquet``: where generic constraints hold, and their right-hand sides."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "constraints/generic_constraint_bounds.parquet",
    "constraint_bounds",
    (
        id_column("constraint_id", "generic constraint"),
        id_column("stage_id", "stage"),
        Column("block_id", "int", is_nullable=True, is_optional=True),
        number("bound"),
    ),
    ("constraint_id", "stage_id", "block_id"),
)
