"""Tables of what was fitted to hydro plants."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cobre.core.case import Case
from cobre.core.files import unwritable, write_atomically
from cobre.core.production import ProductionFit

PLANES = "hydro_models/fpha_hyperplanes.parquet"
DEVIATIONS = "hydro_models/fpha_deviation_points.parquet"
EVAPORATION = "hydro_models/evaporation_models.parquet"

PLANE_TYPES = pa.schema(
    [
        pa.field("hydro_id", pa.int32(), nullable=False),
        pa.field("stage_id", pa.int32()),
        pa.field("plane_id", pa.int32(), nullable=False),
        *(pa.field(f"gamma_{name}", pa.float64(), nullable=False) for name in "0vqs"),
        pa.field("kappa", pa.float64()),
        *(pa.field(name, pa.float64()) for name in ("valid_v_min_hm3", "valid_v_max_hm3", "valid_q_max_m3s")),
    ]
)
DEVIATION_TYPES = pa.schema(
    [
        pa.field("hydro_id", pa.int32(), nullable=False),
        pa.field("stage_id", pa.int32()),
        *(
            pa.field(name, pa.float64(), nullable=False)
            for name in ("v", "q", "fph_exact", "fpha_fitted", "deviation", "relative")
        ),
    ]
)

EVAPORATION_TYPES = pa.schema(
    [
        pa.field("hydro_id", pa.int32(), nullable=False),
        pa.field("stage_id", pa.int32()),
        *(
            pa.field(name, pa.float64(), nullable=False)
            for name in ("intercept_m3s", "volume_slope_m3s_per_hm3", "reference_volume_hm3")
        ),
        pa.field("source", pa.string(), nullable=False),
    ]
)


def write_hydro_models(folder: Path, case: Case) -> list[Path]:
    """Write fitted planes with their errors, and linearised evaporation, where there are any; the files' paths.

    Tables of an earlier run that do not belong to this one are removed.
    """
    contents: dict[str, pa.Table] = {}
    if case.production_fits:
        contents[PLANES] = fitted_planes(case)
        if case.config.writes_fit_deviations:
            contents[DEVIATIONS] = fit_deviations(case)
    if case.evaporation_references:
        contents[EVAPORATION] = evaporation_models(case)
    for name in {PLANES, DEVIATIONS, EVAPORATION} - contents.keys():
        _remove(folder / name)
    for name, table in contents.items():
        sink = io.BytesIO()
        pq.write_table(table, sink)
        write_atomically(folder / name, sink.getvalue())
    return [folder / name for name in contents]


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def fitted_planes(case: Case) -> pa.Table:
    """Planes by hydro and stage, in the format of ``system/fpha_hyperplanes.parquet``."""
    rows = [
        {
            "hydro_id": case.system.hydros[each.hydro].id,
            "stage_id": case.horizon.stages[stage].id,
            "plane_id": number,
            **dict(zip(("gamma_0", "gamma_v", "gamma_q", "gamma_s"), plane, strict=True)),
            "kappa": 1.0,
        }
        for each, stage in _by_hydro_and_stage(case)
        for number, plane in enumerate(each.fit.planes.tolist())
    ]
    return pa.Table.from_pylist(rows, PLANE_TYPES)


def fit_deviations(case: Case) -> pa.Table:
    """Exact and fitted power at the points of the grid; a null stage means one fit for all stages."""
    parts = []
    for each, stage in _by_hydro_and_stage(case):
        is_common = len(each.stages) == case.horizon.n_stages
        if is_common and stage != each.stages[0]:
            continue
        fit, stage_id = each.fit, None if is_common else case.horizon.stages[stage].id
        volumes, flows = np.meshgrid(fit.volumes_hm3, fit.flows_m3s, indexing="ij")
        peak = fit.peak_mw if fit.peak_mw > 0.0 else 1.0
        columns = (
            volumes,
            flows,
            fit.exact_mw,
            fit.fitted_mw,
            fit.deviation_mw,
            np.abs(fit.deviation_mw) / peak,
        )
        parts.append(
            pa.Table.from_arrays(
                [
                    pa.array([case.system.hydros[each.hydro].id] * fit.exact_mw.size, pa.int32()),
                    pa.array([stage_id] * fit.exact_mw.size, pa.int32()),
                    *(pa.array(values.ravel()) for values in columns),
                ],
                schema=DEVIATION_TYPES,
            )
        )
    return pa.concat_tables(parts)


def evaporation_models(case: Case) -> pa.Table:
    """``intercept + slope * volume`` by hydro and stage, and where the volume of the linearisation comes from."""
    constant, slope = case.tables.hydro.evaporation_base_m3s, case.tables.hydro.evaporation_slope
    rows = [
        {
            "hydro_id": case.system.hydros[each.hydro].id,
            "stage_id": stage.id,
            "intercept_m3s": float(constant[each.hydro, index]),
            "volume_slope_m3s_per_hm3": float(slope[each.hydro, index]),
            "reference_volume_hm3": each.volumes_hm3[index],
            "source": "user_supplied" if each.is_given else "default_midpoint",
        }
        for each in case.evaporation_references
        for index, stage in enumerate(case.horizon.stages)
    ]
    return pa.Table.from_pylist(rows, EVAPORATION_TYPES)


def _by_hydro_and_stage(case: Case) -> list[tuple[ProductionFit, int]]:
    pairs = [(each, stage) for each in case.production_fits for stage in each.stages]
    return sorted(pairs, key=lambda pair: (pair[0].hydro, pair[1]))
