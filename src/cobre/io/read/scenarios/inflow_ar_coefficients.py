"""``scenarios/inflow_ar_coefficients.parquet``: standardised autoregressive coefficients of inflows."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/inflow_ar_coefficients.parquet",
    "inflow_lags",
    (
        id_column("hydro_id", "hydro"),
        id_column("stage_id", "any stage"),
        Column("lag", "int"),
        number("coefficient"),
        number("residual_std_ratio", 0.0, 1.0, excludes_low=True),
    ),
    ("hydro_id", "stage_id", "lag"),
)
