"""Fits what a case does not say about inflows to its history, so that the rest of the case needs no other treatment.

=====  ======  ====  ==================================================================
stats  lags    fit   what is fitted (with ``inflow_history``)
=====  ======  ====  ==================================================================
no     no      yes   statistics, coefficients and noise
yes    no      yes   coefficients and noise; the case's statistics stay
no     yes     yes   statistics; the case's coefficients and noise stay
yes    yes     no    nothing, unless residuals are to be drawn again (``bootstrap``)
=====  ======  ====  ==================================================================

Correlations are fitted wherever something is and the case has no ``correlation.json``. Past inflows that the case does
not give are those of the history, where it reaches the start of the study.
"""

from __future__ import annotations

from cobre.core.horizon import Horizon, SeasonDefinitions
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.given import given_models
from cobre.io.assemble.inflow_fitting.past import complete_past_inflows
from cobre.io.assemble.inflow_fitting.records import records_of
from cobre.io.assemble.inflow_fitting.tables import (
    annual_table,
    correlation_document,
    fill_ratios,
    lag_table,
    n_lags_of,
    statistics_table,
)
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Place, Problems
from cobre.io.read.config import EstimationRecord
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
from cobre.io.validate.coefficients import report_stationarity
from cobre.io.validate.fit_wanted import CORRELATION, HISTORY, LAGS, STATS, wants_fit
from cobre.io.validate.history_dates import report_late, report_merged
from cobre.io.validate.history_reports import (
    report_certain_seasons,
    report_copies,
    report_findings,
    report_given_statistics,
    report_unused_annual,
    report_years,
)
from cobre.io.validate.history_units import report_units
from cobre.stochastic.fitting import FitOptions, InflowFit, fit_inflows, levels_of
from cobre.stochastic.fitting.closure import close, effective_coefficients

__all__ = ["complete_from_history"]

NEEDED = ("config.json", "stages.json", "system/hydros.json", HISTORY, STATS, LAGS)


def complete_from_history(files: CaseFiles, problems: Problems) -> None:
    """Put fitted rows where the case has none; report what the history says against it.

    Nothing is fitted where what it needs is wrong already: that has been reported.
    """
    if not wants_fit(files) or not files.hydros.hydros or not _is_ready(files, problems):
        return
    horizon = build_horizon(files.stages)
    if horizon.season_definitions is None:
        return
    history, merged = records_of(files)
    report_merged(files, merged, problems)
    report_late(files, history, horizon.stages[0].start_date, problems)
    has_stats, has_lags = STATS in files.present, LAGS in files.present
    seasons, stages = horizon.season_definitions, horizon.stages
    given = given_models(files, levels_of(seasons), stages, has_stats=has_stats, has_lags=has_lags)
    used = {stage.season_id for stage in stages if stage.season_id is not None}
    fit = fit_inflows(history, seasons, used, _options(files), given)
    before = len(problems.errors)
    report_findings(files, fit, problems, has_stats=has_stats)
    report_units(files, fit, problems)
    report_copies(files, fit, problems)
    report_years(files, fit, stages, problems)
    if has_stats and not has_lags:
        report_given_statistics(files, fit, problems)
    if has_lags and not has_stats:
        report_certain_seasons(files, fit, problems)
        for level in fit.levels:
            phi = effective_coefficients(level.phi, level.psi, level.std_m3s, level.annual_std_m3s)
            report_stationarity(files, close(phi), level.radius, problems)
    if len(problems.errors) == before:
        files.inflow_fit = fit
        _fill(files, fit, horizon, has_stats=has_stats, has_lags=has_lags)
        report_unused_annual(files, fit, problems, has_lags=has_lags)


def _options(files: CaseFiles) -> FitOptions:
    record = files.config.estimation or EstimationRecord()
    selection = "pacf" if record.order_selection == "fixed" else record.order_selection
    magnitude = record.max_coefficient_magnitude
    return FitOptions(
        record.max_order,
        selection,
        record.min_observations_per_season,
        None if magnitude is None else float(magnitude),
    )


def _is_ready(files: CaseFiles, problems: Problems) -> bool:
    if set(NEEDED) & (files.damaged | files.unusable | files.ambiguous):
        return False
    if not set(files.tables["inflow_history"]["hydro_id"].tolist()) <= {
        hydro.id for hydro in files.hydros.hydros
    }:
        return False
    calendar = Problems()
    check_calendar(files, calendar)  # reports again, later, in its place
    known = _season_ids(build_horizon(files.stages).season_definitions) if not calendar.errors else None
    if known is None:
        if files.stages.season_definitions is None:
            problems.error(
                "CoverageMismatch",
                "stages.json",
                f"has no season_definitions, which {HISTORY} needs to become an inflow model",
                "add season_definitions, for instance the twelve months",
                field="season_definitions",
                value=None,
            )
        return False
    lacking = [stage.id for stage in files.stages.stages if stage.season_id is None]
    for stage_id in lacking:
        problems.error(
            "CoverageMismatch",
            Place("stages.json", f"stage {stage_id}", "season_id", None),
            f"has no season_id, which a fit to {HISTORY} needs",
            "give the stage a season_id",
        )
    return not lacking and {stage.season_id for stage in files.stages.stages} <= known


def _season_ids(seasons: SeasonDefinitions | None) -> set[int] | None:
    return None if seasons is None else {season.id for season in seasons.seasons}


def _fill(files: CaseFiles, fit: InflowFit, horizon: Horizon, *, has_stats: bool, has_lags: bool) -> None:
    index = entity_indices(files)["hydro"]
    ids = sorted(index, key=lambda each: index[each])
    stages = horizon.stages
    if not has_lags:
        observed = [h for h in range(len(ids)) if _has_records(fit, h)]
        files.tables["inflow_lags"] = lag_table(fit, stages, ids, observed)
        files.tables["inflow_annual"] = annual_table(fit, stages, ids, observed)
    else:
        for level in fit.levels:
            fill_ratios(files, horizon, level.level, level.ratio)
    complete_past_inflows(files, fit, horizon, n_lags_of(fit))
    if not has_stats:
        before = horizon.pre_study_stages
        files.tables["inflow_stats"] = statistics_table(fit, stages, before, ids, n_lags_of(fit))
    if not (has_stats and has_lags) and CORRELATION not in files.present:
        files.correlation = correlation_document(fit, stages, ids)


def _has_records(fit: InflowFit, hydro: int) -> bool:
    return any(bool(level.statistics.count[hydro].any()) for level in fit.levels)
