"""``constraints/penalty_overrides_bus.parquet``: prices at buses that differ in a stage."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, override

FILE = TableFile(
    "constraints/penalty_overrides_bus.parquet",
    "bus_penalties",
    (
        id_column("bus_id", "bus"),
        id_column("stage_id", "stage"),
        override("excess_cost", 0.0),
    ),
    ("bus_id", "stage_id"),
)
