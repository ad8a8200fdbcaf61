"""What ``cobre fit`` leaves behind: the fitted model as files of a case, a report, and diagnostics as tables."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa

from cobre.core.horizon import PreStudyStage, Stage
from cobre.files import write_atomically
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.report import hydro_report
from cobre.io.assemble.inflow_fitting.tables import annual_table, lag_table
from cobre.io.fitted import FitResult
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.validate.fit_wanted import LAGS
from cobre.io.write.parquet import parquet_bytes
from cobre.io.write.training import json_bytes
from cobre.stochastic.fitting.diagnostic_tables import Columns, diagnostic_tables

__all__ = ["fit_document", "write_fit"]

REPORT = "fitting_report.json"
CORRELATION = "correlation.json"
DIAGNOSTICS = "diagnostics"
OLDER = (f"{DIAGNOSTICS}/*.parquet", "plots/hydro_*.png", "plots/correlation.png")
TABLES = {
    "inflow_seasonal_stats.parquet": "inflow_stats",
    "inflow_ar_coefficients.parquet": "inflow_lags",
    "inflow_annual_component.parquet": "inflow_annual",
}
DERIVED = ("residual_std_ratio",)
"""Columns that a case of 0.18 derives from the others."""
ARROW_TYPES = {"int": pa.int32(), "float": pa.float64(), "date": pa.date32()}


def write_fit(folder: Path, result: FitResult) -> list[Path]:
    """Write everything into ``folder``, each file whole or not at all; the paths.

    The Parquet files and ``correlation.json`` have the form in which ``scenarios/`` of a case takes them.
    """
    files = result.files
    tables = files.tables | _with_stages_before(result)
    contents = {name: parquet_bytes(_case_table(files, tables[table])) for name, table in TABLES.items()}
    if result.files.correlation is not None:
        contents[CORRELATION] = json_bytes(result.files.correlation.model_dump(mode="json"))
    contents[REPORT] = json_bytes(fit_document(result))
    if result.diagnostics:
        diagnostics = diagnostic_tables(result.diagnostics, result.verdicts)
        for name, columns in diagnostics.items():
            contents[f"{DIAGNOSTICS}/{name}.parquet"] = parquet_bytes(_with_ids(columns, result))
    for name, data in contents.items():
        write_atomically(folder / name, data)
    _remove_older(folder, contents)
    return [folder / name for name in contents]


def _remove_older(folder: Path, written: Collection[str]) -> None:
    """Remove tables and pictures of an earlier fit: beside this one's files they would be taken for its own."""
    for pattern in OLDER:
        for path in folder.glob(pattern):
            if path.relative_to(folder).as_posix() not in written:
                path.unlink()


def fit_document(result: FitResult) -> dict[str, Any]:
    """The report: settings, what was found wrong, and per hydro its orders, coefficients and verdict."""
    options = result.fit.options
    return {
        "order_selection": options.order_selection,
        "max_order": options.max_order,
        "residuals": result.residuals,
        "synthetic_series": result.diagnostics[0].n_series if result.diagnostics else 0,
        "seasons": [season for level in result.fit.levels for season in level.level.season_ids],
        "warnings": [problem.to_dict() for problem in result.report.warnings],
        "hydros": {str(hydro.id): _of_hydro(result, h) for h, hydro in enumerate(result.hydros)},
    }


def _of_hydro(result: FitResult, h: int) -> dict[str, Any]:
    levels = result.fit.levels
    document: dict[str, Any] = {
        "name": result.hydros[h].name,
        **hydro_report(result.fit, h),
        "orders": [int(order) for level in levels for order in level.orders[h]],
        "observations": [int(count) for level in levels for count in level.statistics.count[h]],
        "residual_std_ratio": [float(ratio) for level in levels for ratio in level.ratio[h]],
        "yearly_memory": [float(level.radius[h]) for level in levels],
    }
    if result.verdicts:
        document |= {"verdict": result.verdicts[h].word, "reasons": list(result.verdicts[h].reasons)}
    return document


def _with_stages_before(result: FitResult) -> dict[str, Table]:
    """Coefficients of stages before the study, too, whose seasons no stage of it has: a case of 0.18 derives its noise
    from those of all seasons.
    """
    files = result.files
    if not files.generation.is_018 or LAGS in files.present:
        return {}
    horizon = build_horizon(files.stages)
    known = {stage.season_id for stage in horizon.stages}
    before = [each for each in horizon.pre_study_stages if each.season_id not in known]
    ids = [hydro.id for hydro in result.hydros]
    observed = [
        h
        for h in range(len(ids))
        if any(bool(level.statistics.count[h].any()) for level in result.fit.levels)
    ]
    periods: list[Stage | PreStudyStage] = [*before, *horizon.stages]
    return {
        "inflow_lags": lag_table(result.fit, periods, ids, observed),
        "inflow_annual": annual_table(result.fit, periods, ids, observed),
    }


def _case_table(files: CaseFiles, table: Table) -> pa.Table:
    """The table without the columns that the case's generation derives by itself."""
    derived = DERIVED if files.generation.is_018 else ()
    columns = [column for column in table.file.columns if column.name not in derived]
    return pa.table(
        {column.name: pa.array(table[column.name], ARROW_TYPES[column.kind]) for column in columns}
    )


def _with_ids(columns: Columns, result: FitResult) -> pa.Table:
    """The table with ids of hydros in the place of indices."""
    arrays = {}
    for name, values in columns.items():
        if name in ("hydro", "other_hydro"):
            ids = [result.hydros[h].id for h in values]
            arrays[f"{name}_id"] = pa.array(ids, pa.int32())
        elif values and isinstance(values[0], str):
            arrays[name] = pa.array(values, pa.string())
        elif name in ("season_id", "lag", "order", "observations"):
            arrays[name] = pa.array(values, pa.int32())
        else:
            arrays[name] = pa.array(values, pa.float64())
    return pa.table(arrays)
