"""The rows of an inflow model as dense arrays over stages and hydros, each row checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.horizon import PreStudyStage, SeasonDefinitions, Stage
from cobre.core.scenarios import AnnualComponent, InflowStatistics, LagCoefficients
from cobre.errors import ValidationError
from cobre.stochastic.fitting.calendar import Level, level_of, levels_of

__all__ = ["StatisticTable", "annual_shares", "standardised_coefficients"]


@dataclass(frozen=True, slots=True, eq=False)
class StatisticTable:
    """Mean and deviation by stage, before the study too, and by season; zeros where there is no row.

    ``mean``, ``std`` and ``has_row`` are (stages, hydros). A stage of the study has its index as *number*, whatever its
    id; one before it counts back from the first id; ``first`` is the lowest number. ``before`` are the stages before
    the study whose season is known.
    """

    stages: tuple[Stage, ...]
    before: tuple[PreStudyStage, ...]
    levels: tuple[Level, ...]
    first: int
    mean: Floats
    std: Floats
    has_row: NDArray[np.bool_]
    by_season: dict[int, tuple[Floats, Floats]]
    by_earlier_season: dict[int, tuple[Floats, Floats]]
    """Those of seasons that only stages before the study have: the quarter before the first one of the study."""
    counts_seasons: bool = True
    """See `cobre.core.case.Conventions`."""

    @classmethod
    def of(
        cls,
        stages: Sequence[Stage],
        n_hydros: int,
        rows: InflowStatistics,
        seasons: SeasonDefinitions | None = None,
        before: Sequence[PreStudyStage] = (),
        *,
        counts_seasons: bool = True,
    ) -> StatisticTable:
        """The table of these rows; rows of ids that are neither of the study nor before it are refused."""
        check = _Rows("inflow_seasonal_stats", rows.hydro, rows.stage_id)
        check.check_references(stages, n_hydros)
        check.refuse(~np.isfinite(rows.mean_m3s), "mean_m3s is not finite", "give a finite number")
        check.check_deviations("std_m3s", rows.std_m3s)
        check.check_unique()
        numbers = stage_numbers(stages, rows.stage_id)
        first = min(0, int(numbers.min(initial=0)))
        shape = (len(stages) - first, n_hydros)
        mean, std, has_row = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
        places = (numbers - first, rows.hydro)
        mean[places], std[places], has_row[places] = rows.mean_m3s, rows.std_m3s, True
        by_season: dict[int, tuple[Floats, Floats]] = {}
        for t, stage in reversed(
            list(enumerate(stages))
        ):  # the first stage of a season with a row speaks for it
            if stage.season_id is not None:
                i = t - first
                later = by_season.get(stage.season_id, (np.zeros(n_hydros), np.zeros(n_hydros)))
                by_season[stage.season_id] = (
                    np.where(has_row[i], mean[i], later[0]),
                    np.where(has_row[i], std[i], later[1]),
                )
        by_earlier_season: dict[int, tuple[Floats, Floats]] = {}
        for period in sorted(before, key=lambda each: each.id):
            i = period.id - (stages[0].id if stages else 0) - first
            if i >= 0 and period.season_id is not None and period.season_id not in by_season:
                by_earlier_season.setdefault(period.season_id, (mean[i], std[i]))
        levels = () if seasons is None else levels_of(seasons)
        return cls(
            tuple(stages),
            tuple(before),
            levels,
            first,
            mean,
            std,
            has_row,
            by_season,
            by_earlier_season,
            counts_seasons,
        )

    def of_stage(self, stage_id: int) -> tuple[Floats, Floats]:
        """Mean and deviation (hydros) of a stage of the study."""
        row = self.number(stage_id) - self.first
        return self.mean[row], self.std[row]

    def number(self, stage_id: int) -> int:
        """The number of a stage of the study."""
        return int(stage_numbers(self.stages, np.array([stage_id]))[0])

    def at_lag(self, stage_id: int, lag: int) -> tuple[Floats, Floats]:
        """Mean and deviation (hydros) of what lag ``lag`` of a stage stands for.

        Those of the stage that many before, if it has rows; else those of the season that many before. Where that
        stage has a season of another level, a month before a quarter, only the season counts, of stages before the
        study if no other has it. If no stage has that season, there are none, or the seasons of the study are counted.
        """
        nothing = (np.zeros(self.mean.shape[1]), np.zeros(self.mean.shape[1]))
        number = self.number(stage_id)
        season, is_other_level = self.season_at_lag(number, lag)
        known = self.by_earlier_season | self.by_season if is_other_level else self.by_season
        mean, std = nothing if season is None else known.get(season, nothing)
        i = number - lag - self.first
        if 0 <= i < len(self.mean) and not is_other_level:
            mean, std = (
                np.where(self.has_row[i], self.mean[i], mean),
                np.where(self.has_row[i], self.std[i], std),
            )
        return mean, std

    def season_at_lag(self, number: int, lag: int) -> tuple[int | None, bool]:
        """The season ``lag`` before the stage of this number, and whether the stage before is of another level."""
        first = self.stages[0]
        in_study = len({stage.season_id for stage in self.stages} - {None})
        counted = None if first.season_id is None else (number + first.id - lag + first.season_id) % in_study
        if not self.levels:
            return counted, False
        seasons = {stage.id - first.id: stage.season_id for stage in self.before}
        seasons |= {t: stage.season_id for t, stage in enumerate(self.stages)}
        mine = level_of(self.levels, seasons[number])
        earlier = number - lag
        other = level_of(self.levels, seasons.get(earlier, first.season_id))
        if mine is not None and other is not mine:
            return _back(mine, seasons[number], lag), True
        if earlier >= 0:
            return seasons[earlier], False
        season = _back(other, first.season_id, -earlier)
        is_calendar = not self.counts_seasons or len(self.levels) > 1
        return (season if is_calendar or season in self.by_season else counted), False


def stage_numbers(stages: Sequence[Stage], ids: Ints) -> Ints:
    """The numbers of stage ids: the index of a stage of the study; one before it counts back from the first id."""
    index = {stage.id: t for t, stage in enumerate(stages)}
    begin = stages[0].id if stages else 0
    return np.array([index.get(each, each - begin) for each in ids.tolist()], dtype=np.int64)


def _back(level: Level | None, season_id: int | None, steps: int) -> int | None:
    """The season that comes ``steps`` before another one of its level."""
    position = None if level is None else level.position(season_id)
    if level is None or position is None:
        return None
    return level.season_ids[(position - steps) % level.n_seasons]


def standardised_coefficients(table: StatisticTable, rows: LagCoefficients) -> tuple[Floats, Floats]:
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


def annual_shares(table: StatisticTable, rows: AnnualComponent) -> Floats | None:
    """ψ̂ = ψ* s / s_A (stages, hydros); None without a row in the study."""
    stages, n_hydros = table.stages, table.mean.shape[1]
    check = _Rows("inflow_annual_component", rows.hydro, rows.stage_id)
    check.check_references(stages, n_hydros)
    check.refuse(~np.isfinite(rows.coefficient), "annual_coefficient is not finite", "give a finite number")
    check.check_deviations("annual_std_m3s", rows.std_m3s)
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
    hydro: Ints
    stage_id: Ints

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
        ids = [stage.id for stage in stages]
        unknown = (self.stage_id >= min(ids, default=0)) & ~np.isin(self.stage_id, ids)
        self.refuse(unknown, "there is no such stage", "use ids of stages.json", "MissingReference")

    def check_deviations(self, name: str, values: Floats) -> None:
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        self.refuse(wrong, f"{name} is negative or not finite", "give a finite number of 0 or more")

    def check_unique(self) -> None:
        order = np.lexsort((self.hydro, self.stage_id))
        repeated = np.zeros(len(order), dtype=bool)
        repeated[order[1:]] = (np.diff(self.hydro[order]) == 0) & (np.diff(self.stage_id[order]) == 0)
        self.refuse(repeated, "there is more than one row", "keep one of them", "DuplicateId")

    def check_statistics(self, table: StatisticTable, in_study: NDArray[np.bool_]) -> None:
        places = np.where(in_study, stage_numbers(table.stages, self.stage_id) - table.first, 0)
        missing = in_study & ~table.has_row[places, self.hydro] if len(places) else in_study
        fix = "add a row to inflow_seasonal_stats"
        self.refuse(missing, "there are no statistics", fix, "MissingReference")
