"""Tables of what was fitted to hydro plants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cobre.arrays import Floats
from cobre.core.arrow import arrow_table
from cobre.core.case import Case
from cobre.core.hydro_model_tables import DEVIATIONS, EVAPORATION, PLANES
from cobre.core.outputs import TableSchema
from cobre.core.production import ProductionFit
from cobre.files import write_atomically
from cobre.io.write.folder import HYDRO_MODELS
from cobre.io.write.parquet import parquet_bytes


def write_hydro_models(folder: Path, case: Case) -> None:
    """Write fitted planes with their errors, and linearised evaporation, where there are any."""
    tables: dict[TableSchema, pa.Table] = {}
    if case.production_fits:
        tables[PLANES] = fitted_planes(case)
        if case.config.writes_fit_deviations:
            tables[DEVIATIONS] = fit_deviations(case)
    if case.evaporation_references:
        tables[EVAPORATION] = evaporation_models(case)
    for schema, table in tables.items():
        write_atomically(folder / HYDRO_MODELS / f"{schema.name}.parquet", parquet_bytes(table))


def fitted_planes(case: Case) -> pa.Table:
    """Planes by hydro and stage, in the format of ``system/fpha_hyperplanes.parquet``."""
    rows = [
        (hydro_id, stage_id, number, *plane, 1.0, None, None, None)
        for each, stage in _by_hydro_and_stage(case)
        for hydro_id, stage_id in [(case.system.hydros[each.hydro].id, case.horizon.stages[stage].id)]
        for number, plane in enumerate(each.fit.planes.tolist())
    ]
    return _table_of_rows(PLANES, rows)


def fit_deviations(case: Case) -> pa.Table:
    """Exact and fitted power at the points of the grid; a null stage means one fit for all stages."""
    parts = []
    for each, stage in _by_hydro_and_stage(case):
        is_common = len(each.stages) == case.horizon.n_stages
        if is_common and stage != each.stages[0]:
            continue
        fit, n = each.fit, each.fit.exact_mw.size
        volumes, flows = np.meshgrid(fit.volumes_hm3, fit.flows_m3s, indexing="ij")
        columns: dict[str, list[Any] | Floats] = {
            "hydro_id": [case.system.hydros[each.hydro].id] * n,
            "stage_id": [None if is_common else case.horizon.stages[stage].id] * n,
            "v": volumes.ravel(),
            "q": flows.ravel(),
            "fph_exact": fit.exact_mw.ravel(),
            "fpha_fitted": fit.fitted_mw.ravel(),
            "deviation": fit.deviation_mw.ravel(),
            "relative": (np.abs(fit.deviation_mw) / fit.peak_mw).ravel(),
        }
        parts.append(arrow_table(DEVIATIONS, columns))
    return pa.concat_tables(parts).combine_chunks()


def evaporation_models(case: Case) -> pa.Table:
    """``intercept + slope * volume`` by hydro and stage, and where the volume of the linearisation comes from."""
    constant, slope = case.tables.hydro.evaporation_base_m3s, case.tables.hydro.evaporation_slope
    rows = [
        (
            case.system.hydros[each.hydro].id,
            stage.id,
            float(constant[each.hydro, index]),
            float(slope[each.hydro, index]),
            each.volumes_hm3[index],
            "user_supplied" if each.is_given else "default_midpoint",
        )
        for each in case.evaporation_references
        for index, stage in enumerate(case.horizon.stages)
    ]
    return _table_of_rows(EVAPORATION, rows)


def _table_of_rows(schema: TableSchema, rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return arrow_table(schema, dict(zip(schema.column_names, columns, strict=True)))


def _by_hydro_and_stage(case: Case) -> list[tuple[ProductionFit, int]]:
    pairs = [(each, stage) for each in case.production_fits for stage in each.stages]
    return sorted(pairs, key=lambda pair: (pair[0].hydro, pair[1]))
