"""Lags of 0.18 start from what the history and recent observations know of the time before the study."""

from __future__ import annotations

from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.inflow_fitting.seeds import seed_past_inflows
from cobre.io.assemble.system import entity_indices
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.calendar import check_calendar
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
    if not files.generation.is_today or set(NEEDED) & (files.damaged | files.unusable | files.ambiguous):
        return
    known = set(entity_indices(files)["hydro"])
    named = {
        hydro
        for name in ("inflow_history", "inflow_lags", "inflow_annual")
        for hydro in files.tables[name]["hydro_id"].tolist()
    } | {each.hydro_id for each in files.initial_conditions.recent_observations}
    calendar = Problems()
    check_calendar(files, calendar)  # reports again, later, in its place
    if calendar.errors or not files.stages.stages or not named <= known:
        return
    for hydro_id, lag, start, end, missing in seed_past_inflows(files, build_horizon(files.stages)):
        problems.error(
            "CoverageMismatch",
            HISTORY,
            f"lag {lag} of its inflow is the mean from {start} to {end}, of which {missing} days are not known",
            "add windows for those days to the history, or to recent_observations in initial_conditions.json",
            entity=f"hydro {hydro_id}",
            field="start_date",
            value=str(start),
            rule=UNKNOWN_LAGS,
        )
