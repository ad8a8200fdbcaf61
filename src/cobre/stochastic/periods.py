"""Which period of the seasonal calendar a stage belongs to, and how many of its days lie there.

A *period* is one occurrence of a season: April 2026, or the second quarter of 2027. A calendar whose seasons overlap
has several *levels*, months and quarters say, and the season of a stage decides its level.

monthly, custom   the occurrence of the stage's season that shares most days with the stage
weekly            the ISO week that the stage starts in; all days of the stage count there
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cobre.core.horizon import SeasonDefinitions, Stage
from cobre.errors import ValidationError
from cobre.stochastic.fitting.calendar import Level, level_of, levels_of

__all__ = ["Period", "StageCalendar", "season_year"]

UNEVEN = 1.5
"""Seasons of one level that follow one another may differ in length by this factor."""


@dataclass(frozen=True, slots=True)
class Period:
    """The days of an occurrence of a season; ``number`` counts the occurrences of its level."""

    number: int
    start: dt.date
    end: dt.date

    @classmethod
    def of(cls, level: Level, number: int) -> Period:
        year, position = divmod(number, level.n_seasons)
        return cls(number, *level.occurrence(position, year))

    def days_of(self, start: dt.date, end: dt.date) -> int:
        """How many days from ``start`` until before ``end`` it has."""
        return max(0, (min(end, self.end) - max(start, self.start)).days)


@dataclass(frozen=True)
class StageCalendar:
    """The level, the period and the days of every stage.

    Where the dates of stages overlap, a day counts for the last of them; ``ends`` are the stages' ends without the days
    that a later stage has.
    """

    stages: tuple[Stage, ...]
    levels: tuple[Level, ...]
    level: tuple[int, ...]
    period: tuple[Period, ...]
    ends: tuple[dt.date, ...]

    @classmethod
    def for_lags(cls, stages: Sequence[Stage], seasons: SeasonDefinitions) -> StageCalendar:
        """The calendar of stages whose inflow model has lags. Refused if no lag could be right: see the messages."""
        calendar = cls.of(stages, seasons)
        calendar._check()
        return calendar

    @classmethod
    def of(cls, stages: Sequence[Stage], seasons: SeasonDefinitions) -> StageCalendar:
        """The calendar of these stages, each of which must have a season of it."""
        levels = levels_of(seasons)
        numbers = tuple(_level_number(stage, levels, seasons) for stage in stages)
        periods = tuple(_period(stage, levels[j]) for stage, j in zip(stages, numbers, strict=True))
        ends = [stage.end_date for stage in stages]
        earliest = dt.date.max
        for t in reversed(range(len(stages))):
            ends[t] = min(ends[t], earliest)
            earliest = min(earliest, stages[t].start_date)
        return cls(tuple(stages), levels, numbers, periods, tuple(ends))

    def own_days(self, t: int) -> int:
        """Days of stage ``t`` in its own period."""
        return self.days_in(t, self.period[t])

    def days_in(self, t: int, period: Period) -> int:
        """Days of stage ``t`` in a period of its own or of a coarser level."""
        stage = self.stages[t]
        if self.levels[self.level[t]].cycle_type == "weekly":
            return max(0, (self.ends[t] - stage.start_date).days) if period == self.period[t] else 0
        return period.days_of(stage.start_date, self.ends[t])

    def touched(self, t: int, level: int) -> list[Period]:
        """The periods of ``level`` that have days of stage ``t``, in order."""
        first = self.period_at(self.stages[t].start_date, level).number
        nearby = (Period.of(self.levels[level], first + step) for step in range(3))
        return [period for period in nearby if self.days_in(t, period)]

    def period_at(self, date: dt.date, level: int) -> Period:
        """The period of ``level`` that holds ``date``, or the last one that begins before it."""
        n = self.levels[level].n_seasons
        nearby = [Period.of(self.levels[level], date.year * n + step) for step in range(-n, n)]
        return max((p for p in nearby if p.start <= date), key=lambda period: period.start)

    def _check(self) -> None:
        for t, (stage, period) in enumerate(zip(self.stages, self.period, strict=True)):
            if not period.days_of(stage.start_date, stage.end_date) and self.ends[t] > stage.start_date:
                raise refused(
                    stage,
                    f"has season {stage.season_id} ({period.start} to {period.end}), which its dates do not touch",
                    "give it the season that it lies in",
                )
        for t, (before, now) in enumerate(pairwise(self.level)):
            stage = self.stages[t + 1]
            if now < before:
                raise refused(
                    stage,
                    "has a shorter season than the stage before it, and the inflow model has lags",
                    "none in the case: lags over seasons that become shorter are not modelled",
                )
            if now == before:
                self._check_pair(t, self.levels[now])

    def _check_pair(self, t: int, level: Level) -> None:
        """Two stages of one level that follow each other."""
        before, now, stage = self.period[t], self.period[t + 1], self.stages[t + 1]
        if level.cycle_type == "monthly" and now.number not in (before.number, before.number + 1):
            raise refused(
                stage,
                f"follows a stage of {before.start:%B %Y}, so that no stage stands for a month between them",
                "give the stage of every month the season of that month",
            )
        lengths = [(period.end - period.start).days for period in (before, now)]
        if level.cycle_type == "custom" and max(lengths) > UNEVEN * min(lengths):
            raise refused(
                stage,
                f"has a season of {lengths[1]} days after one of {lengths[0]} days, and the inflow model has lags",
                "none in the case: lags over seasons of different lengths in one cycle are not modelled",
            )


def season_year(stage: Stage, seasons: SeasonDefinitions | None) -> int | None:
    """Year in which the stage's occurrence of its season begins; None if the stage has no season of the calendar."""
    levels = () if seasons is None else levels_of(seasons)
    level = level_of(levels, stage.season_id)
    return None if level is None else _period(stage, level).number // level.n_seasons


def _level_number(stage: Stage, levels: Sequence[Level], seasons: SeasonDefinitions) -> int:
    if stage.season_id is None and seasons.cycle_type != "custom":
        return 0
    level = level_of(levels, stage.season_id)
    if level is None:
        raise refused(
            stage, f"has season {stage.season_id}, which is not defined", "use a season of the calendar"
        )
    return levels.index(level)


def _period(stage: Stage, level: Level) -> Period:
    if level.cycle_type == "weekly":
        year, week, _ = stage.start_date.isocalendar()
        return Period.of(level, year * level.n_seasons + min(week, level.n_seasons) - 1)
    position = level.position(stage.season_id)
    if position is None:
        position = stage.start_date.month - 1
    year = stage.start_date.year
    nearby = [Period.of(level, (year + step) * level.n_seasons + position) for step in (-1, 0, 1)]
    return min(
        nearby, key=lambda period: (-period.days_of(stage.start_date, stage.end_date), _gap(stage, period))
    )


def _gap(stage: Stage, period: Period) -> int:
    """Days between a stage and a period that do not touch."""
    return max((period.start - stage.end_date).days, (stage.start_date - period.end).days)


def refused(stage: Stage, what: str, fix: str) -> ValidationError:
    """The error for a stage that lags cannot follow."""
    return ValidationError(
        f"stage {stage.id} ({stage.start_date} to {stage.end_date}) {what}",
        kind="IncompatibleSettings",
        context={"file": "stages.json", "stage_id": stage.id, "season_id": stage.season_id},
        suggestion=fix,
    )
