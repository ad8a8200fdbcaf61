"""What a case gives of an inflow model beside its history, season by season: the first stage of a season speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Stage
from cobre.io.assemble.system import entity_indices
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.stochastic.fitting import GivenModel
from cobre.stochastic.fitting.calendar import Level

__all__ = ["given_models"]

Floats = NDArray[np.float64]


def given_models(
    files: CaseFiles, levels: Sequence[Level], stages: Sequence[Stage], *, has_stats: bool, has_lags: bool
) -> list[GivenModel]:
    """A `GivenModel` per level, from the statistics and coefficients that the case has."""
    hydros = entity_indices(files)["hydro"]
    return [_given(files, level, _places(level, stages), hydros, has_stats, has_lags) for level in levels]


def _places(level: Level, stages: Sequence[Stage]) -> dict[int, int]:
    """From the id of the first stage of each season to the season's position."""
    first: dict[int, int] = {}
    for stage in reversed(stages):
        position = level.position(stage.season_id)
        if position is not None:
            first[position] = stage.id
    return {stage_id: position for position, stage_id in first.items()}


def _given(
    files: CaseFiles,
    level: Level,
    places: Mapping[int, int],
    hydros: Mapping[int, int],
    has_stats: bool,
    has_lags: bool,
) -> GivenModel:
    shape = (len(hydros), level.n_seasons)
    std = phi = ratio = psi = annual_mean = annual_std = None
    if has_stats:
        rows, at = _rows(files.tables["inflow_stats"], places, hydros)
        std = _filled(shape, at, rows["std_m3s"])
    if has_lags:
        rows, at = _rows(files.tables["inflow_lags"], places, hydros)
        phi = np.zeros((*shape, int(rows["lag"].max(initial=0))))
        phi[(*at, rows["lag"] - 1)] = rows["coefficient"]
        ratio = _filled(shape, at, rows["residual_std_ratio"], 1.0)
        rows, at = _rows(files.tables["inflow_annual"], places, hydros)
        psi = _filled(shape, at, rows["annual_coefficient"])
        annual_mean = _filled(shape, at, rows["annual_mean_m3s"])
        annual_std = _filled(shape, at, rows["annual_std_m3s"])
    return GivenModel(std, phi, ratio, psi, annual_mean, annual_std)


def _rows(
    table: Table, places: Mapping[int, int], hydros: Mapping[int, int]
) -> tuple[Table, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The rows of the stages that speak, and their (hydro, season)."""
    rows = table.take(np.isin(table["stage_id"], sorted(places)) & np.isin(table["hydro_id"], sorted(hydros)))
    hydro = np.array([hydros[each] for each in rows["hydro_id"].tolist()], dtype=np.int64)
    season = np.array([places[each] for each in rows["stage_id"].tolist()], dtype=np.int64)
    return rows, (hydro, season)


def _filled(
    shape: tuple[int, int],
    at: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: Floats,
    blank: float = 0.0,
) -> Floats:
    result = np.full(shape, blank)
    result[at] = values
    return result
