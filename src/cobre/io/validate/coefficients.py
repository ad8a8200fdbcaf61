"""Checks of autoregressive coefficients that a case gives: do they settle, and how much noise do they leave?"""

from __future__ import annotations

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.given import given_coefficients, given_statistics
from cobre.io.assemble.inflow_fitting.tables import fill_ratios
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Place, Problems
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
from cobre.io.validate.naming import called
from cobre.stochastic.fitting.calendar import Level, levels_of
from cobre.stochastic.fitting.closure import Closure, close, effective_coefficients
from cobre.stochastic.fitting.stationarity import spectral_radius, stationarity_problem

__all__ = ["complete_ratios", "has_counted_lags", "report_stationarity"]

LAGS, STATS = "scenarios/inflow_ar_coefficients.parquet", "scenarios/inflow_seasonal_stats.parquet"
NEEDED = (
    "stages.json",
    "system/hydros.json",
    STATS,
    "scenarios/inflow_annual_component.parquet",
    LAGS,
)


def complete_ratios(files: CaseFiles, problems: Problems) -> None:
    """Derive ``residual_std_ratio`` where the file has none: the noise that keeps every season's deviation.

    A model that does not settle is an error for a hydro without ratios, and a warning for one that has its own.
    """
    if not {LAGS, STATS} <= files.present or set(NEEDED) & (files.damaged | files.unusable | files.ambiguous):
        return
    table = files.tables["inflow_lags"]
    if files.generation.is_018 and not np.isnan(table["residual_std_ratio"]).all():
        problems.warn(
            "IncompatibleSettings",
            LAGS,
            "residual_std_ratio has no effect: it is derived from the coefficients",
            "remove the column",
            field="residual_std_ratio",
            value=float(np.nanmax(table["residual_std_ratio"])),
        )
        blank = np.full(len(table), np.nan)
        table = Table(table.file, {**table.columns, "residual_std_ratio": blank})
        files.tables["inflow_lags"] = table
    if not has_counted_lags(table) or not set(table["hydro_id"].tolist()) <= set(
        entity_indices(files)["hydro"]
    ):
        return
    calendar = Problems()
    check_calendar(files, calendar)  # reports again, later, in its place
    if calendar.errors:
        return
    horizon = build_horizon(files.stages)
    for level in _levels(horizon):
        before = horizon.pre_study_stages if files.generation.is_018 else ()
        given = given_coefficients(files, level, horizon.stages, before)
        std = np.nan_to_num(given_statistics(files, level, horizon.stages, "std_m3s", before))
        phi = effective_coefficients(given.phi, given.psi, std, given.annual_std_m3s)
        closure = close(phi)
        report_stationarity(files, closure, spectral_radius(phi), problems)
        fill_ratios(files, horizon, level, closure.ratio)


def has_counted_lags(table: Table) -> bool:
    """Whether no lag is below 1, or above what rows that count 1, 2, 3, ... can reach."""
    return bool(((table["lag"] >= 1) & (table["lag"] <= len(table))).all())


def _levels(horizon: Horizon) -> tuple[Level, ...]:
    """The levels of the calendar; without one, the seasons that stages name, by id."""
    if horizon.season_definitions is not None:
        return levels_of(horizon.season_definitions)
    named = sorted({stage.season_id for stage in horizon.stages if stage.season_id is not None})
    return (Level("custom", tuple(named)),) if named else ()


def report_stationarity(files: CaseFiles, closure: Closure, radius: Floats, problems: Problems) -> None:
    """Coefficients of the case that do not settle: an error where the noise is derived from them, else a warning."""
    table = files.tables["inflow_lags"]
    index = entity_indices(files)["hydro"]
    for hydro in files.hydros.hydros:
        h = index[hydro.id]
        problem = stationarity_problem(closure, radius, h)
        if problem is None:
            continue
        is_derived = bool(np.isnan(table["residual_std_ratio"][table["hydro_id"] == hydro.id]).any())
        report = problems.error if is_derived else problems.warn
        report(
            "OutOfRange",
            Place(LAGS, called("hydro", hydro), "coefficient", float(radius[h])),
            f"its coefficients are not stationary: {problem}",
            "lower the coefficients: standardised inflows must be able to keep a variance of 1 in every season",
        )
