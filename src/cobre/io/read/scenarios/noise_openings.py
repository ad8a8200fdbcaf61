"""``scenarios/noise_openings.parquet``: the tree of noises, given instead of generated."""

from __future__ import annotations

from cobre.io.read.columns import Column, TableFile, id_column, number

FILE = TableFile(
    "scenarios/noise_openings.parquet",
    "noise_openings",
    (
        id_column("stage_id", "stage"),
        Column("opening_index", "int"),
        Column("entity_index", "int"),
        number("value"),
        Column("probability", "float", is_nullable=True, is_optional=True, low=0.0, high=1.0),
    ),
    ("stage_id", "opening_index", "entity_index"),
)
