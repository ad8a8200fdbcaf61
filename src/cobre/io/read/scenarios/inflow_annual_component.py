"""``scenarios/inflow_annual_component.parquet``: the yearly term of inflow models."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, number

FILE = TableFile(
    "scenarios/inflow_annual_component.parquet",
    "inflow_annual",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "any stage"),
        number("annual_coefficient"),
        number("annual_mean_m3s"),
        number("annual_std_m3s", 0.0),
    ),
    ("hydro_id", "stage_id"),
)
