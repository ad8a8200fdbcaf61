"""What a case gives of an inflow model besides its history, season by season, from the first stage of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import PreStudyStage, Stage
from cobre.io.assemble.system import entity_indices
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.stochastic.fitting import GivenCoefficients, GivenModel
from cobre.stochastic.fitting.calendar import Level

__all__ = ["given_coefficients", "given_models", "given_statistics"]


def given_models(
    files: CaseFiles, levels: Sequence[Level], stages: Sequence[Stage], *, has_stats: bool, has_lags: bool
) -> list[GivenModel]:
    """A `GivenModel` per level, from the statistics and coefficients that the case has."""
    return [
        GivenModel(
            given_statistics(files, level, stages, "mean_m3s") if has_stats else None,
            given_statistics(files, level, stages, "std_m3s") if has_stats else None,
            given_coefficients(files, level, stages) if has_lags else None,
        )
        for level in levels
    ]


def given_statistics(
    files: CaseFiles,
    level: Level,
    stages: Sequence[Stage],
    column: str,
    before: Sequence[PreStudyStage] = (),
) -> Floats:
    """A column of the statistics (hydros, seasons), NaN where there is no row."""
    rows, at = _rows(files.tables["inflow_stats"], files, level, stages, before)
    return _filled((len(files.hydros.hydros), level.n_seasons), at, rows[column], np.nan)


def given_coefficients(
    files: CaseFiles, level: Level, stages: Sequence[Stage], before: Sequence[PreStudyStage] = ()
) -> GivenCoefficients:
    """Coefficients, 0 where there is no row; ratios are 1 there."""
    shape = (len(files.hydros.hydros), level.n_seasons)
    rows, at = _rows(files.tables["inflow_lags"], files, level, stages, before)
    phi = np.zeros((*shape, int(rows["lag"].max(initial=0))))
    phi[(*at, rows["lag"] - 1)] = rows["coefficient"]
    ratio = _filled(shape, at, rows["residual_std_ratio"], 1.0)
    rows, at = _rows(files.tables["inflow_annual"], files, level, stages, before)
    annual = ("annual_coefficient", "annual_mean_m3s", "annual_std_m3s")
    return GivenCoefficients(phi, ratio, *(_filled(shape, at, rows[name]) for name in annual))


def _first_stages(
    level: Level, stages: Sequence[Stage], before: Sequence[PreStudyStage] = ()
) -> dict[int, int]:
    """From the id of the first stage of each season to the season's position.

    A stage before the study speaks for a season that no stage of the study has.
    """
    first: dict[int, int] = {}
    for period in sorted(before, key=lambda each: each.id):
        position = level.position(period.season_id)
        if position is not None:
            first[position] = period.id
    for stage in reversed(stages):
        position = level.position(stage.season_id)
        if position is not None:
            first[position] = stage.id
    return {stage_id: position for position, stage_id in first.items()}


def _rows(
    table: Table,
    files: CaseFiles,
    level: Level,
    stages: Sequence[Stage],
    before: Sequence[PreStudyStage],
) -> tuple[Table, tuple[Ints, Ints]]:
    """The rows of the stages that speak, and their (hydro, season)."""
    places, hydros = _first_stages(level, stages, before), entity_indices(files)["hydro"]
    rows = table.take(np.isin(table["stage_id"], sorted(places)) & np.isin(table["hydro_id"], sorted(hydros)))
    hydro = np.array([hydros[each] for each in rows["hydro_id"].tolist()], dtype=np.int64)
    season = np.array([places[each] for each in rows["stage_id"].tolist()], dtype=np.int64)
    return rows, (hydro, season)


def _filled(
    shape: tuple[int, int],
    at: tuple[Ints, Ints],
    values: Floats,
    blank: float = 0.0,
) -> Floats:
    result = np.full(shape, blank)
    result[at] = values
    return result
