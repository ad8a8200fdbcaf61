"""``constraints/penalty_overrides_line.parquet``: prices of lines that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/penalty_overrides_line.parquet",
    "line_penalties",
    (
        id_column("line_id", "line"),
        id_column("stage_id", "stage"),
        override("exchange_cost", 0.0),
    ),
    ("line_id", "stage_id"),
)
