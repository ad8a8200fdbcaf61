"""The rows of an inflow model as dense arrays over stages and hydros, each row checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Stage
from cobre.core.scenarios import AnnualComponent, InflowStatistics, LagCoefficients
from cobre.errors import ValidationError

__all__ = ["StatisticTable", "annual_shares", "standardised_coefficients"]


@dataclass(frozen=True, slots=True, eq=False)
class StatisticTable:
    """Mean and deviation by stage id, before the study too, and by season; zeros where there is no row.

    ``mean``, ``std`` and ``has_row`` are (stage ids, hydros); the first stage id is ``first_id``.
    """

    stages: tuple[Stage, ...]
    first_id: int
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    has_row: NDArray[np.bool_]
    by_season: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]

    @classmethod
    def of(cls, stages: Sequence[Stage], n_hydros: int, rows: InflowStatistics) -> StatisticTable:
        """The table of these rows; rows of ids that are neither of the study nor before it are refused."""
        check = _Rows("inflow_seasonal_stats", rows.hydro, rows.stage_id)
        check.check_references(stages, n_hydros)
        check.refuse(~np.isfinite(rows.mean_m3s), "mean_m3s is not finite", "give a finite number")
        check.refuse(
            ~(np.isfinite(rows.std_m3s) & (rows.std_m3s >= 0.0)),
            "std_m3s is negative or not finite",
            "give a finite number of 0 or more",
        )
        check.check_unique()
        ids = [stage.id for stage in stages] + rows.stage_id.tolist()
        first_id, last_id = min(ids, default=0), max(ids, default=-1)
        shape = (last_id - first_id + 1, n_hydros)
        mean, std, has_row = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
        places = (rows.stage_id - first_id, rows.hydro)
        mean[places], std[places], has_row[places] = rows.mean_m3s, rows.std_m3s, True
        by_season: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for stage in reversed(stages):  # the first stage of a season that has a row speaks for it
            if stage.season_id is not None:
                i = stage.id - first_id
                later = by_season.get(stage.season_id, (np.zeros(n_hydros), np.zeros(n_hydros)))
                by_season[stage.season_id] = (
                    np.where(has_row[i], mean[i], later[0]),
                    np.where(has_row[i], std[i], later[1]),
                )
        return cls(tuple(stages), first_id, mean, std, has_row, by_season)

    def of_stage(self, stage_id: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation (hydros) of a stage of the study."""
        return self.mean[stage_id - self.first_id], self.std[stage_id - self.first_id]

    def at_lag(self, stage_id: int, lag: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation (hydros) of the stage ``lag`` before: its own rows, else those of its season."""
        mean, std = np.zeros(self.mean.shape[1]), np.zeros(self.mean.shape[1])
        first_season = self.stages[0].season_id
        if first_season is not None:
            season = (stage_id - lag + first_season) % len(self.by_season)
            mean, std = self.by_season.get(season, (mean, std))
        i = stage_id - lag - self.first_id
        if 0 <= i < len(self.mean):
            mean, std = (
                np.where(self.has_row[i], self.mean[i], mean),
                np.where(self.has_row[i], self.std[i], std),
            )
        return mean, std


def standardised_coefficients(
    table: StatisticTable, rows: LagCoefficients
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """φ* (stages, lags, hydros), as many lags as the largest order, and the residual ratio (stages, hydros)."""
    stages, n_hydros = table.stages, table.mean.shape[1]
    order = np.lexsort((rows.lag, rows.hydro, rows.stage_id))
    hydro, stage_id, lag = rows.hydro[order], rows.stage_id[order], rows.lag[order]
    coefficient, ratio = rows.coefficient[order], rows.residual_std_ratio[order]
    check = _Rows("inflow_ar_coefficients", hydro, stage_id)
    check.check_references(stages, n_hydros)
    check.refuse(~np.isfinite(coefficient), "the coefficient is not finite", "give a finite number")
    check.refuse(
        ~((ratio > 0.0) & (ratio <= 1.0)),
        "residual_std_ratio is not above 0 and at most 1",
        "give the residual's share of the deviation",
    )
    follows = np.zeros(len(lag), dtype=bool)
    follows[1:] = (hydro[1:] == hydro[:-1]) & (stage_id[1:] == stage_id[:-1])
    expected = np.ones_like(lag)
    expected[1:] = np.where(follows[1:], lag[:-1] + 1, 1)
    check.refuse(lag != expected, "lags are repeated or missing", "number them 1, 2, 3, ... without gaps")
    changed = follows.copy()
    changed[1:] &= ratio[1:] != ratio[:-1]
    check.refuse(changed, "residual_std_ratio differs between lags", "repeat the same ratio on every lag")
    index = {stage.id: t for t, stage in enumerate(stages)}
    in_study = np.array([i in index for i in stage_id.tolist()], dtype=bool)
    t = np.array([index.get(i, 0) for i in stage_id.tolist()], dtype=np.int64)
    seasonless = np.array([stage.season_id is None for stage in stages], dtype=bool)
    check.refuse(in_study & seasonless[t], "the stage has no season", "give the stage a season_id")
    check.check_statistics(table, in_study)
    # Rows of stages before the study say nothing: the inflows of those stages are given.
    t, hydro, lag = t[in_study], hydro[in_study], lag[in_study]
    phi = np.zeros((len(stages), int(lag.max(initial=0)), n_hydros))
    phi[t, lag - 1, hydro] = coefficient[in_study]
    ratios = np.ones((len(stages), n_hydros))
    ratios[t, hydro] = ratio[in_study]
    return phi, ratios


def annual_shares(table: StatisticTable, rows: AnnualComponent) -> NDArray[np.float64] | None:
    """ψ̂ = ψ* s / s_A (stages, hydros); None without a row in the study."""
    stages, n_hydros = table.stages, table.mean.shape[1]
    check = _Rows("inflow_annual_component", rows.hydro, rows.stage_id)
    check.check_references(stages, n_hydros)
    check.refuse(~np.isfinite(rows.coefficient), "annual_coefficient is not finite", "give a finite number")
    check.refuse(
        ~(np.isfinite(rows.std_m3s) & (rows.std_m3s >= 0.0)),
        "annual_std_m3s is negative or not finite",
        "give a finite number of 0 or more",
    )
    check.check_unique()
    index = {stage.id: t for t, stage in enumerate(stages)}
    in_study = np.array([i in index for i in rows.stage_id.tolist()], dtype=bool)
    check.check_statistics(table, in_study)
    if not in_study.any():
        return None
    shares = np.zeros((len(stages), n_hydros))
    for row in np.flatnonzero(in_study):
        stage_id, hydro = int(rows.stage_id[row]), int(rows.hydro[row])
        if rows.std_m3s[row] > 0.0:
            std = table.of_stage(stage_id)[1][hydro]
            shares[index[stage_id], hydro] = rows.coefficient[row] * std / rows.std_m3s[row]
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The keys of a file's rows, to say which one is wrong."""

    file: str
    hydro: NDArray[np.int64]
    stage_id: NDArray[np.int64]

    def refuse(self, wrong: NDArray[np.bool_], what: str, fix: str, kind: str = "OutOfRange") -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            hydro, stage_id = int(self.hydro[row]), int(self.stage_id[row])
            raise ValidationError(
                f"{self.file}, hydro index {hydro}, stage {stage_id}: {what}",
                kind=kind,
                context={"file": f"scenarios/{self.file}.parquet", "hydro": hydro, "stage_id": stage_id},
                suggestion=fix,
            )

    def check_references(self, stages: Sequence[Stage], n_hydros: int) -> None:
        unknown = (self.hydro < 0) | (self.hydro >= n_hydros)
        self.refuse(unknown, "there is no such hydro", "use ids of hydros.json", "MissingReference")
        unknown = (self.stage_id >= 0) & ~np.isin(self.stage_id, [stage.id for stage in stages])
        self.refuse(unknown, "there is no such stage", "use ids of stages.json", "MissingReference")

    def check_unique(self) -> None:
        order = np.lexsort((self.hydro, self.stage_id))
        repeated = np.zeros(len(order), dtype=bool)
        repeated[order[1:]] = (np.diff(self.hydro[order]) == 0) & (np.diff(self.stage_id[order]) == 0)
        self.refuse(repeated, "there is more than one row", "keep one of them", "DuplicateId")

    def check_statistics(self, table: StatisticTable, in_study: NDArray[np.bool_]) -> None:
        places = np.where(in_study, self.stage_id - table.first_id, 0)
        missing = in_study & ~table.has_row[places, self.hydro] if len(places) else in_study
        fix = "add a row to inflow_seasonal_stats"
        self.refuse(missing, "there are no statistics", fix, "MissingReference")
