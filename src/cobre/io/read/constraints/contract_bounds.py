"""``constraints/contract_bounds.parquet``: limits and prices of contracts that differ in a stage or block."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, block_column, id_column, override

FILE = TableFile(
    "constraints/contract_bounds.parquet",
    "contract_bounds",
    (
        id_column("contract_id", "contract"),
        id_column("stage_id", "stage"),
        block_column(),
        override("min_mw", 0.0),
        override("max_mw", 0.0),
        override("price_per_mwh"),
    ),
    ("contract_id", "stage_id", "block_id"),
)
