"""Lags of 0.18 start from the history and recent observations of the time before the study."""

from __future__ import annotations

from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.seeds import Gap, lag_orders, seed_past_inflows
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
from cobre.io.validate.coefficients import has_counted_lags
from cobre.io.validate.fit_wanted import HISTORY

UNKNOWN_LAGS = "5a.30"
"""Number of the rule that all days that a lag reads are known."""
NEEDED = (
    "stages.json",
    "initial_conditions.json",
    "system/hydros.json",
    "scenarios/inflow_ar_coefficients.parquet",
    "scenarios/inflow_annual_component.parquet",
    HISTORY,
)


def complete_lag_seeds(files: CaseFiles, problems: Problems) -> None:
    """Set the past inflows of a case of 0.18; report lags that reach days whose inflow is not known."""
    if not files.generation.is_018 or set(NEEDED) & (files.damaged | files.unusable | files.ambiguous):
        return
    known = set(entity_indices(files)["hydro"])
    named = {
        hydro
        for name in ("inflow_history", "inflow_lags", "inflow_annual")
        for hydro in files.tables[name]["hydro_id"].tolist()
    } | {each.hydro_id for each in files.initial_conditions.recent_observations}
    calendar = Problems()
    check_calendar(files, calendar)  # reports again, later, in its place
    if calendar.errors or not files.stages.stages or not named <= known or _has_unknown_seasons(files):
        return
    if not has_counted_lags(files.tables["inflow_lags"]):
        return
    horizon = build_horizon(files.stages)
    first = horizon.stages[0]
    if lag_orders(files, horizon) and first.season_id is None:
        place = Place("stages.json", f"stage {first.id}", "season_id", None)
        message = f"no season has its first day, {first.start_date}: lags have no season to start in"
        remedy = "give the stage a season_id, or the calendar a season of that day"
        problems.warn("CoverageMismatch", place, message, remedy, rule="5a.34")
    if horizon.season_definitions is None and lag_orders(files, horizon) and files.generation.is_018:
        problems.warn(
            "CoverageMismatch",
            "stages.json",
            "the inflow model has lags, and no season_definitions say which periods they are: they start from 0, "
            "whatever the history and recent_observations say",
            "add season_definitions",
            field="season_definitions",
            value=None,
        )
    for gap in seed_past_inflows(files, horizon):
        _report(gap, problems)


def _has_unknown_seasons(files: CaseFiles) -> bool:
    """Whether a stage names a season that the calendar lacks, which is reported elsewhere."""
    seasons = files.stages.season_definitions
    if seasons is None:
        return False
    known = {None, *(season.id for season in seasons.seasons)}
    return any(stage.season_id not in known for stage in files.stages.stages)


def _report(gap: Gap, problems: Problems) -> None:
    days = f"from {gap.start} to {gap.end}, of which {gap.missing_days} days are not known"
    place = {
        "entity": f"hydro {gap.hydro_id}",
        "field": "start_date",
        "value": str(gap.start),
    }
    remedy = "add windows for those days to the history, or to recent_observations in initial_conditions.json"
    if gap.is_read:
        text = f"lag {gap.lag} of its inflow is the mean {days}"
        problems.error("CoverageMismatch", HISTORY, text, remedy, **place, rule=UNKNOWN_LAGS)
    elif gap.lag:
        text = f"lag {gap.lag} of its inflow, which other hydros have and its model does not read, is the mean {days}"
        problems.warn("CoverageMismatch", HISTORY, text, f"ignore this, or {remedy}", **place, rule="5a.31")
    else:
        text = f"the study starts within a period {days}; the mean of the others stands for them"
        problems.warn("CoverageMismatch", HISTORY, text, remedy, **place, rule="5a.33")
