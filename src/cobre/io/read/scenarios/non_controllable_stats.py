"""``scenarios/non_controllable_stats.parquet``: the available share of installed power."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, number

FILE = TableFile(
    "scenarios/non_controllable_stats.parquet",
    "non_controllable_stats",
    (
        id_column("ncs_id", "non-controllable source"),
        id_column("stage_id", "stage"),
        number("mean", 0.0, 1.0),
        number("std", 0.0),
    ),
    ("ncs_id", "stage_id"),
)
