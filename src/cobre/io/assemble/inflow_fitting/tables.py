"""A fitted model as the tables and the document that a case would otherwise have as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import Horizon, PreStudyStage, Stage
from cobre.io.assemble.system import entity_indices
from cobre.io.read.columns import Table, TableFile
from cobre.io.read.files import CaseFiles
from cobre.io.read.scenarios.correlation import (
    CorrelatedEntity,
    CorrelationFile,
    CorrelationGroupRecord,
    ProfileRecord,
    ScheduleRecord,
)
from cobre.io.read.scenarios.inflow_annual_component import FILE as ANNUAL
from cobre.io.read.scenarios.inflow_ar_coefficients import FILE as LAGS
from cobre.io.read.scenarios.inflow_seasonal_stats import FILE as STATS
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS

if TYPE_CHECKING:
    from cobre.stochastic.fitting import InflowFit, LevelFit
    from cobre.stochastic.fitting.calendar import Level

__all__ = [
    "annual_table",
    "correlation_document",
    "fill_ratios",
    "lag_table",
    "n_lags_of",
    "statistics_table",
]

GROUP = "hydros"


def n_lags_of(fit: InflowFit) -> int:
    """How many past inflows the model looks at."""
    return max(
        (
            max(int(level.orders.max(initial=0)), ANNUAL_SEASONS if level.has_annual else 0)
            for level in fit.levels
        ),
        default=0,
    )


def statistics_table(
    fit: InflowFit,
    stages: Sequence[Stage],
    before: Sequence[PreStudyStage],
    hydro_ids: Sequence[int],
    n_lags: int,
) -> Table:
    """A row per hydro and stage, and per stage before the study that a lag of the first stages looks at."""
    places = dict(_places_before(fit, stages[0], n_lags))
    periods: list[Stage | PreStudyStage] = [*before, *stages]
    for stage in periods:
        found = fit.place(stage.season_id)
        if found is not None:
            places[stage.id] = found
    rows: list[tuple[int, int, float, float]] = []
    for stage_id, (level, s) in places.items():
        mean, std = level.statistics.mean_m3s[:, s], level.statistics.std_m3s[:, s]
        rows += [(id_, stage_id, float(mean[h]), float(std[h])) for h, id_ in enumerate(hydro_ids)]
    return _table(STATS, rows)


def _fitted(
    fit: InflowFit, stages: Sequence[Stage | PreStudyStage]
) -> Iterator[tuple[Stage | PreStudyStage, LevelFit, int]]:
    """The stages that have a model, with its level and the position of their season in it."""
    for stage in stages:
        found = fit.place(stage.season_id)
        if found is not None:
            yield stage, *found


def lag_table(
    fit: InflowFit, stages: Sequence[Stage | PreStudyStage], hydro_ids: Sequence[int], observed: Sequence[int]
) -> Table:
    """A row per hydro of ``observed`` (indices), stage and lag.

    A season with an annual term alone has one lag with coefficient 0, which carries its ratio.
    """
    rows: list[tuple[int, int, int, float, float]] = []
    for stage, level, s in _fitted(fit, stages):
        for h in observed:
            order = max(int(level.orders[h, s]), int(level.psi[h, s] != 0.0))
            phi, ratio = level.phi[h, s], float(level.ratio[h, s])
            rows += [
                (hydro_ids[h], stage.id, lag + 1, float(phi[lag]) if lag < len(phi) else 0.0, ratio)
                for lag in range(order)
            ]
    return _table(LAGS, rows)


def annual_table(
    fit: InflowFit, stages: Sequence[Stage | PreStudyStage], hydro_ids: Sequence[int], observed: Sequence[int]
) -> Table:
    """A row per hydro of ``observed`` (indices) and stage with an annual term."""
    rows: list[tuple[int, int, float, float, float]] = []
    for stage, level, s in _fitted(fit, stages):
        for h in observed:
            if level.psi[h, s] != 0.0:
                psi, mean, std = level.psi[h, s], level.annual_mean_m3s[h, s], level.annual_std_m3s[h, s]
                rows.append((hydro_ids[h], stage.id, float(psi), float(mean), float(std)))
    return _table(ANNUAL, rows)


def correlation_document(
    fit: InflowFit, stages: Sequence[Stage], hydro_ids: Sequence[int]
) -> CorrelationFile:
    """All hydros in one group per profile, and the profile of each stage that has another than the default."""
    entities = tuple(CorrelatedEntity(type="inflow", id=id_) for id_ in hydro_ids)
    profiles = {
        name: ProfileRecord.model_construct(
            correlation_groups=(
                CorrelationGroupRecord.model_construct(
                    name=GROUP, entities=entities, matrix=tuple(map(tuple, matrix.tolist()))
                ),
            )
        )
        for name, matrix in fit.profiles.items()
    }
    used = {
        stage.id: fit.profile_of_season.get(stage.season_id)
        for stage in stages
        if stage.season_id is not None
    }
    schedule = tuple(ScheduleRecord(stage_id=id_, profile_name=name) for id_, name in used.items() if name)
    scheduled = {entry.profile_name for entry in schedule}
    return CorrelationFile.model_construct(
        method="spectral",
        profiles={
            name: profile for name, profile in profiles.items() if name == "default" or name in scheduled
        },
        schedule=schedule,
    )


def fill_ratios(files: CaseFiles, horizon: Horizon, level: Level, ratio: Floats) -> None:
    """Put ratios (hydros, seasons) into the rows of coefficients of this level that have none."""
    table, index = files.tables["inflow_lags"], entity_indices(files)["hydro"]
    filled = table["residual_std_ratio"].copy()
    seasons = {stage.id: level.position(stage.season_id) for stage in horizon.stages}
    for row in np.flatnonzero(np.isnan(filled)).tolist():
        stage_id, hydro_id = int(table["stage_id"][row]), int(table["hydro_id"][row])
        season = seasons.get(stage_id)
        if season is not None:
            filled[row] = ratio[index[hydro_id], season]
        elif stage_id not in seasons:
            filled[row] = 1.0  # before the study: its inflows are given
    files.tables["inflow_lags"] = Table(table.file, {**table.columns, "residual_std_ratio": filled})


def _places_before(fit: InflowFit, first: Stage, n_lags: int) -> Iterator[tuple[int, tuple[LevelFit, int]]]:
    """Ids before the first stage, and where the season lies that many steps back in its level."""
    found = fit.place(first.season_id)
    if found is not None:
        level, position = found
        for back in range(1, n_lags + 1):
            yield first.id - back, (level, (position - back) % level.level.n_seasons)


def _table(file: TableFile, rows: Sequence[tuple[Any, ...]]) -> Table:
    """Rows in the order of the file's columns, sorted by its key."""
    order = {column.name: place for place, column in enumerate(file.columns)}
    ordered = sorted(rows, key=lambda row: tuple(row[order[name]] for name in file.key))
    kinds: Mapping[str, Any] = {"int": np.int64, "float": np.float64}
    return Table(
        file,
        {
            column.name: np.array([row[place] for row in ordered], dtype=kinds[column.kind])
            for place, column in enumerate(file.columns)
        },
    )
