"""The yearly cycle of seasons that an inflow model is fitted on, in calendar order whatever the seasons' ids.

A *level* is a cycle of seasons that do not overlap: twelve months, 52 weeks, four quarters. A calendar whose seasons
overlap (months and quarters) has one level per length of season, and each is fitted by itself. Within a level an
*occurrence* of a season is numbered ``year * n_seasons + position``, so that the occurrence k numbers before is the one
that lag k means.
"""

from __future__ import annotations

import datetime as dt
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import CycleType, Season, SeasonDefinitions

__all__ = ["EPOCH", "Level", "level_of", "levels_of"]

EPOCH = dt.date(1970, 1, 1)
COMMON_YEAR = 2001
SAME_LENGTH_DAYS = 7
"""Seasons whose lengths differ by at most this belong to one level."""
WEEKS = 52


@dataclass(frozen=True, slots=True)
class Level:
    """One cycle of seasons in calendar order. A monthly or weekly cycle is complete even if the case names only a part.

    ``season_ids`` has None for a month or week that the case does not name.
    """

    cycle_type: CycleType
    season_ids: tuple[int | None, ...]
    spans: tuple[Season, ...] = ()
    """The seasons of a custom cycle."""

    @property
    def n_seasons(self) -> int:
        return len(self.season_ids)

    @property
    def is_monthly(self) -> bool:
        """Whether its seasons are the twelve months."""
        if self.cycle_type != "custom":
            return self.cycle_type == "monthly"
        months = [_bounds(season, COMMON_YEAR) for season in self.spans]
        return len(months) == 12 and all(
            start.day == 1 and 28 <= (end - start).days <= 31 for start, end in months
        )

    def position(self, season_id: int | None) -> int | None:
        """Where a season stands in the cycle; None if it is not of this level."""
        return (
            self.season_ids.index(season_id)
            if season_id is not None and season_id in self.season_ids
            else None
        )

    def occurrence(self, position: int, year: int) -> tuple[dt.date, dt.date]:
        """First day and the day after the last one of the season that begins in ``year`` (weeks: ISO year)."""
        if self.cycle_type == "monthly":
            return dt.date(year, position + 1, 1), dt.date(
                year + (position + 1) // 12, (position + 1) % 12 + 1, 1
            )
        if self.cycle_type == "weekly":
            # The last season is week 52 together with week 53, where a year has it.
            is_last = position == WEEKS - 1
            start = dt.date.fromisocalendar(year, position + 1, 1)
            return start, dt.date.fromisocalendar(year + 1, 1, 1) if is_last else start + dt.timedelta(days=7)
        return _bounds(self.spans[position], year)

    def bounds(self, first_year: int, n_years: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and end of every occurrence of these years, in days since 1970, in order of time."""
        both = [
            self.occurrence(position, first_year + year)
            for year in range(n_years)
            for position in range(self.n_seasons)
        ]
        days = np.array([((start - EPOCH).days, (end - EPOCH).days) for start, end in both], dtype=np.int64)
        return days[:, 0], days[:, 1]

    def label(self, position: int, year: int) -> str:
        """How a person names an occurrence."""
        start, end = self.occurrence(position, year)
        if self.is_monthly:
            return f"{start:%Y-%m}"
        return f"{start} to {end - dt.timedelta(days=1)}"


def levels_of(definitions: SeasonDefinitions) -> tuple[Level, ...]:
    """The levels of a calendar, the finest first."""
    if definitions.cycle_type == "monthly":
        by_month = {season.month_start: season.id for season in reversed(definitions.seasons)}
        return (Level("monthly", tuple(by_month.get(month) for month in range(1, 13))),)
    if definitions.cycle_type == "weekly":
        known = {season.id for season in definitions.seasons}
        return (Level("weekly", tuple(week if week in known else None for week in range(WEEKS))),)
    seasons = sorted(
        definitions.seasons, key=lambda season: (season.month_start, season.day_start or 1, season.id)
    )
    return tuple(
        Level("custom", tuple(season.id for season in group), tuple(group))
        for group in _without_overlaps(seasons)
    )


def level_of(levels: Sequence[Level], season_id: int | None) -> Level | None:
    """The level that a season belongs to."""
    return next((level for level in levels if level.position(season_id) is not None), None)


def _without_overlaps(seasons: Sequence[Season]) -> list[list[Season]]:
    """All seasons if no day belongs to two of them, else groups of seasons of about one length."""
    days = [day for season in seasons for day in _days_of_year(season)]
    if len(days) == len(set(days)):
        return [list(seasons)]
    groups: list[list[Season]] = []
    for season in sorted(seasons, key=lambda each: len(_days_of_year(each))):
        is_as_long = (
            groups and len(_days_of_year(season)) - len(_days_of_year(groups[-1][0])) <= SAME_LENGTH_DAYS
        )
        if is_as_long:
            groups[-1].append(season)
        else:
            groups.append([season])
    return [sorted(group, key=seasons.index) for group in groups]


def _days_of_year(season: Season) -> list[int]:
    start, end = _bounds(season, COMMON_YEAR)
    first = (start - dt.date(COMMON_YEAR, 1, 1)).days
    return [day % 365 for day in range(first, first + (end - start).days)]


def _bounds(season: Season, year: int) -> tuple[dt.date, dt.date]:
    days = monthrange(year, season.month_start)[1]
    start = dt.date(year, season.month_start, min(season.day_start or 1, days))
    month = season.month_end or season.month_start
    end_year = year
    for _ in range(2):
        days = monthrange(end_year, month)[1]
        last = dt.date(end_year, month, days if season.day_end is None else min(season.day_end, days))
        if last >= start:
            break
        end_year += 1
    return start, last + dt.timedelta(days=1)
