"""``system/hydro_geometry.parquet``: height and area of reservoirs over their volume."""

from __future__ import annotations

from cobre.io.read.columns import TableFile, id_column, number

FILE = TableFile(
    "system/hydro_geometry.parquet",
    "geometry",
    (id_column("hydro_id", "hydro"), number("volume_hm3", 0.0), number("height_m"), number("area_km2", 0.0)),
    ("hydro_id", "volume_hm3"),
)
