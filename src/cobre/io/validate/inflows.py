"""Whether noise and inflows can be made of what the case says: decided by the code that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.horizon import Stage
from cobre.errors import ValidationError
from cobre.io.problems import Place, Problems
from cobre.io.validate.naming import listed
from cobre.stochastic.historical import HistoricalWindows, observed_years
from cobre.stochastic.inflow_rows import StatisticTable, standardised_coefficients
from cobre.stochastic.moments import NoiseStatistics
from cobre.stochastic.process import (
    InflowProcess,
    external_classes,
    external_scenarios,
    historical_windows,
    stages_with_openings,
)

STATISTICS, CONFIG = "scenarios/inflow_seasonal_stats.parquet", "config.json"


def check_inflow_model(
    case: Case,
    sources: Mapping[str, ScenarioSource],
    n_trajectories: Mapping[str, int],
    problems: Problems,
    openings_key: str = "num_openings",
) -> None:
    """Report why noise, inflows or lags cannot be modelled, if they cannot.

    ``sources`` are where the trajectories of training and of a simulation take their noise from; ``openings_key`` is
    how the case spells the number of openings.
    """
    try:
        _check_lag_statistics(case, problems)
        of_training = external_classes(case.config.training.scenario_source)
        for phase, source in sources.items():
            statistics = NoiseStatistics.of(case, of_training | external_classes(source))
            process = InflowProcess.of(case, statistics)
            for scenarios in external_scenarios(case, source, statistics, process).values():
                scenarios.noise(range(scenarios.n_scenarios))
            if phase == "training":
                stages, _ = stages_with_openings(case, statistics, process)
                _check_openings(case, stages, openings_key, problems)
                _check_nonnegative(case, process, problems)
            if source.inflow == "historical":
                windows = historical_windows(case, source, process)
                _check_windows(case, phase, source, windows, n_trajectories[phase], problems)
    except ValidationError as error:
        _report(case, error, problems)


def _report(case: Case, error: ValidationError, problems: Problems) -> None:
    stage, hydro, message = error.context.get("stage_id"), error.context.get("hydro"), error.message
    if hydro is not None:
        message = message.replace(f"hydro index {hydro}", f"hydro {case.system.hydros[hydro].id}")
    field = error.context.get("field", "season_id" if "season_id" in error.context else "stage_id")
    problems.error(
        error.kind,
        Place(
            error.context.get("file", STATISTICS),
            "" if stage is None else f"stage {stage}",
            field,
            error.context.get("season_id", stage),
        ),
        message,
        error.suggestion,
    )


def _check_openings(case: Case, stages: Sequence[Stage], key: str, problems: Problems) -> None:
    """Stages that get fewer openings than the case asks for."""
    pairs = zip(case.horizon.stages, stages, strict=True)
    fewer = [(asked, given) for asked, given in pairs if given.n_openings < asked.n_openings]
    if fewer:
        asked, given = fewer[0]
        problems.warn(
            "CoverageMismatch",
            Place("stages.json", f"stage {asked.id}", key, asked.n_openings),
            f"stage {listed(stage.id for stage, _ in fewer)} has {key} = {asked.n_openings}, but gets "
            f"{given.n_openings} openings: there are no more external scenarios or windows of the history",
            f"set {key} to {given.n_openings}, or give more scenarios or years",
        )


def _check_nonnegative(case: Case, process: InflowProcess, problems: Problems) -> None:
    """Lognormal noise cannot keep every inflow from being negative."""
    residuals, model = case.scenarios.residuals, process.model
    if residuals is None or residuals.kind != "lognormal_nonnegative":
        return
    is_open = ((model.base <= 0.0) | (model.psi < 0.0).any(axis=1)) & (model.sigma > 0.0)
    for h in np.flatnonzero(is_open.any(axis=0)).tolist():
        stages = [case.horizon.stages[t].id for t in np.flatnonzero(is_open[:, h]).tolist()]
        problems.warn(
            "IncompatibleSettings",
            Place(
                CONFIG, f"hydro {case.system.hydros[h].id}", "estimation.residuals", "lognormal_nonnegative"
            ),
            f"estimation.residuals = 'lognormal_nonnegative': inflows in stage {listed(stages)} may be negative all "
            "the same, since a coefficient is negative there or the lags alone give more than the mean",
            "lower estimation.max_order, or set modeling.inflow_non_negativity.method to truncation",
        )


def _check_windows(
    case: Case,
    phase: str,
    source: ScenarioSource,
    windows: HistoricalWindows,
    n_trajectories: int,
    problems: Problems,
) -> None:
    dropped = sorted(set(source.historical_years or ()) - set(windows.years))
    field = f"{phase}.scenario_source.historical_years"
    if dropped and case.scenarios.history is not None:
        horizon, n_hydros = case.horizon, len(case.system.hydros)
        complete = observed_years(
            case.scenarios.history, n_hydros, horizon.stages, horizon.season_definitions
        )
        problems.warn(
            "CoverageMismatch",
            CONFIG,
            f"{phase}: the history has no complete window for the years {listed(dropped)}, which are left out",
            f"use years of {min(complete)} to {max(complete)}",
            field=field,
            value=dropped[:8],
        )
    if windows.n_windows < n_trajectories:
        problems.warn(
            "CoverageMismatch",
            CONFIG,
            f"{phase}: {windows.n_windows} windows of the history serve {n_trajectories} trajectories, so that some "
            "trajectories are the same",
            "nothing, if that is meant; more years give more different trajectories",
            field=field,
            value=windows.n_windows,
        )


def _check_lag_statistics(case: Case, problems: Problems) -> None:
    """A coefficient of a lag without deviation counts as 0; mostly a row before the study was forgotten."""
    horizon, scenarios = case.horizon, case.scenarios
    table = StatisticTable.of(
        horizon.stages,
        len(case.system.hydros),
        scenarios.inflow,
        horizon.season_definitions,
        horizon.pre_study_stages,
        counts_seasons=case.conventions.counts_seasons,
    )
    phi, _ = standardised_coefficients(table, scenarios.lags)
    for t, stage in enumerate(horizon.stages):
        for lag in range(1, phi.shape[1] + 1):
            is_lost = (phi[t, lag - 1] != 0.0) & (table.at_lag(stage.id, lag)[1] == 0.0)
            is_lost &= table.of_stage(stage.id)[1] > 0.0
            if is_lost.any():
                ids = [case.system.hydros[h].id for h in np.flatnonzero(is_lost).tolist()]
                season, is_other_level = table.season_at_lag(t, lag)
                if is_other_level:
                    first = min(
                        [horizon.stages[0].id - phi.shape[1], *(b.id for b in horizon.pre_study_stages)]
                    )
                    reason = f"it stands for season {season}, which no stage with a deviation has"
                    remedy = (
                        f"add a stage with season_id {season} and an id below {first} to pre_study_stages in "
                        f"stages.json, and its rows where the statistics are given"
                    )
                else:
                    reason = f"there is no row of stage {stage.id - lag} and no other stage of its season"
                    remedy = f"add rows with stage_id {stage.id - lag}"
                problems.warn(
                    "CoverageMismatch",
                    Place(
                        STATISTICS,
                        f"stage {stage.id}",
                        "season_id" if is_other_level else "stage_id",
                        season if is_other_level else stage.id - lag,
                    ),
                    f"lag {lag} of hydro {listed(ids)} has no deviation: {reason}, so that its coefficient counts as 0",
                    remedy,
                )
