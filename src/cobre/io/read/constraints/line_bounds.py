"""``constraints/line_bounds.parquet``: capacities of lines that differ in a stage or block."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/line_bounds.parquet",
    "line_bounds",
    (
        id_column("line_id", "line"),
        id_column("stage_id", "stage"),
        block_column(),
        override("direct_mw", 0.0),
        override("reverse_mw", 0.0),
    ),
    ("line_id", "stage_id", "block_id"),
)
