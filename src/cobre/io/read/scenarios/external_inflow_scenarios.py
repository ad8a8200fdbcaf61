"""``scenarios/external_inflow_scenarios.parquet``: inflows given by the planner."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/external_inflow_scenarios.parquet",
    "external_inflow",
    (
        id_column("stage_id", "stage"),
        Column("scenario_id", "int"),
        id_column("hydro_id", "hydro"),
        number("value_m3s"),
    ),
    ("stage_id", "scenario_id", "hydro_id"),
)
