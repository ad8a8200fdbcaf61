"""``scenarios/external_load_scenarios.parquet``: loads given by the planner."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/external_load_scenarios.parquet",
    "external_load",
    (
        id_column("stage_id", "stage"),
        Column("scenario_id", "int"),
        id_column("bus_id", "bus"),
        number("value_mw"),
    ),
    ("stage_id", "scenario_id", "bus_id"),
)
