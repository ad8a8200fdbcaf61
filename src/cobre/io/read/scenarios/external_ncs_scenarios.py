"""``scenarios/external_ncs_scenarios.parquet``: availabilities given by the planner."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/external_ncs_scenarios.parquet",
    "external_ncs",
    (
        id_column("stage_id", "stage"),
        Column("scenario_id", "int"),
        id_column("ncs_id", "non-controllable source"),
        number("availability_factor"),
    ),
    ("stage_id", "scenario_id", "ncs_id"),
)
