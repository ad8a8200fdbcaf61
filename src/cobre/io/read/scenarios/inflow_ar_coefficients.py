"""``scenarios/inflow_ar_coefficients.parquet``: standardised autoregressive coefficients of inflows.

Without ``residual_std_ratio`` the noise is derived from the coefficients.
"""

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
        Column(
            "residual_std_ratio",
            "float",
            is_nullable=True,
            is_optional=True,
            low=0.0,
            high=1.0,
            excludes_low=True,
        ),
    ),
    ("hydro_id", "stage_id", "lag"),
)
