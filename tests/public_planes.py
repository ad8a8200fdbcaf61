"""Plants whose planes and evaporation the public Cobre 0.18 fitted; run as a program it does so anew.

``python -m public_planes PROGRAM`` in ``tests`` writes ``public_planes.json``: by case the planes of the first stage,
sorted, and the lines of evaporation of all stages.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cobre.io.examples.small import small_documents, small_tables
from cobre.io.examples.writing import write_case
from cobre.io.read.system.tailrace_curves import FILE as CURVES
from public_runs import run, stop_after, store, without_losses

STORED = Path(__file__).parent / "io/public_planes.json"
GEOMETRY = "system/hydro_geometry.parquet"
LOWER_LAKE = [(120.0, 318.0, 10.0), (400.0, 325.0, 15.0), (700.0, 331.0, 20.0)]
"""Volume, height and area of the plant below, whose level the families of curves ask for."""
FAMILIES = [
    (0, 0, 310.0, 0, 0.0, 400.0, 328.0, 0.005, 1e-6, 0.0, 0.0),
    (0, 0, 310.0, 1, 400.0, 900.0, 328.0, 0.005, 1e-6, 0.0, 0.0),
    (0, 1, 330.0, 0, 0.0, 800.0, 331.0, 0.003, 1e-6, 0.0, 0.0),
    (0, 2, 420.0, 0, 0.0, 900.0, 336.0, 0.001, 1e-6, 1e-12, 0.0),
]
PIECES = [(0.0, 328.0), (250.0, 332.0), (500.0, 340.0)]
CASES: dict[str, dict[str, object]] = {
    "constant losses": {"hydraulic_losses": {"type": "constant", "value_m": 4.0}},
    "piecewise tailrace": {
        "tailrace": {
            "type": "piecewise",
            "points": [{"outflow_m3s": flow, "height_m": height} for flow, height in PIECES],
        }
    },
    "families of curves": {"families": FAMILIES},
    "other grid": {"config": {"volume_discretization_points": 9, "turbine_discretization_points": 4}},
    "merged by angle": {"reduction": {"method": "angle", "tolerance_deg": 2.0}},
    "merged by distance": {"reduction": {"method": "distance", "tolerance_pct": 0.05, "n_samples": 200}},
    "rain on the lake": {
        "evaporation": {"coefficients_mm": [140, 130, -25, 110, 95, 85, 90, -110, 125, 140, 145, 145]}
    },
}
"""What the upper plant has otherwise, and settings of its fit."""


def write(folder: Path, name: str) -> Path:
    """The example study with computed planes for the upper plant, and without line losses."""
    change = dict(CASES[name])
    families, config = change.pop("families", None), change.pop("config", {})
    documents, tables = small_documents(), small_tables()
    models = documents["system/hydro_production_models.json"]
    if "reduction" in change:
        models["fpha_plane_reduction"] = change.pop("reduction")
    models["production_models"][0]["stage_ranges"] = [
        {
            "start_stage_id": 0,
            "end_stage_id": None,
            "model": "fpha",
            "fpha_config": {"source": "computed", **config},
        }
    ]
    upper = documents["system/hydros.json"]["hydros"][0]
    upper["generation"]["model"] = "fpha"
    upper["specific_productivity_mw_per_m3s_per_m"] = 0.009
    upper["tailrace"] = {"type": "polynomial", "coefficients": [328.0, 0.006]}
    upper["hydraulic_losses"] = {"type": "factor", "value": 0.02}
    upper["efficiency"] = {"type": "constant", "value": 0.92}
    upper.update(change)
    without_losses(documents)
    stop_after(1, 1, documents)
    documents["config.json"]["simulation"] = {"enabled": False}
    write_case(folder, documents, tables)
    if families is not None:
        add_families(folder, families)
    return folder


def add_families(folder: Path, families: list[tuple[float, ...]]) -> None:
    """Curves of the upper plant by the level of the lower one, and the geometry of that."""
    columns = zip([column.name for column in CURVES.columns], zip(*families, strict=True), strict=True)
    kinds = {column.name: pa.int32() if column.kind == "int" else pa.float64() for column in CURVES.columns}
    arrays = {name: pa.array(values, kinds[name]) for name, values in columns}
    pq.write_table(pa.table(arrays), folder / CURVES.path, compression="none")
    upper = pq.read_table(folder / GEOMETRY)
    lower = [dict(zip(upper.column_names, (1, *row), strict=True)) for row in LOWER_LAKE]
    both = pa.concat_tables([upper, pa.Table.from_pylist(lower, schema=upper.schema)])
    pq.write_table(both, folder / GEOMETRY, compression="none")


def fitted(folder: Path) -> dict[str, list[list[float]]]:
    """Planes and lines of evaporation of the upper plant in ``hydro_models`` of an output folder."""
    planes = pq.read_table(folder / "fpha_hyperplanes.parquet").to_pylist()
    lines = pq.read_table(folder / "evaporation_models.parquet").to_pylist()
    names = ("gamma_0", "gamma_v", "gamma_q", "gamma_s")
    return {
        "planes": sorted([row[name] for name in names] for row in planes if row["stage_id"] == 0),
        "evaporation": [
            [row["intercept_m3s"], row["volume_slope_m3s_per_hm3"]] for row in lines if row["hydro_id"] == 0
        ],
    }


def compute(program: str, name: str, folder: Path) -> dict[str, list[list[float]]]:
    """What the public program fits."""
    return fitted(run(program, write(folder, name)) / "hydro_models")


if __name__ == "__main__":
    store(STORED, CASES, compute)
