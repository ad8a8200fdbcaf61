"""From observed inflows to one number per plant, season and year.

A record is a mean flow over a window of days, its end exclusive. The inflow of a season's occurrence is the mean of the
records inside it, weighted by hours, and counts as an observation only if the records cover all of it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.stochastic.fitting.calendar import EPOCH, Level

__all__ = ["InflowHistory", "Observations", "observe", "windows_of_dates"]

HOURS_PER_DAY = 24.0
DAYS_PER_MONTH = 30.44
DAILY_GAP, MONTHLY_GAP = 1.5, 27.0
"""Records at most this many days apart are daily, and those at least that many apart are of whole months."""


@dataclass(frozen=True, eq=False)
class InflowHistory:
    """Records sorted by hydro and start. Days count from 1970-01-01; windows of one hydro do not overlap."""

    n_hydros: int
    hydro: Ints
    start_day: Ints
    end_day: Ints
    value_m3s: Floats


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed of a level: ``values`` and ``coverage`` (hydros, years, seasons).

    A value is NaN unless its coverage, the share of the occurrence's days that records cover, is 1.
    """

    level: Level
    first_year: int
    values: Floats
    coverage: Floats

    @property
    def n_years(self) -> int:
        return int(self.values.shape[1])

    @property
    def series(self) -> Floats:
        """The values (hydros, occurrences) in order of time."""
        return self.values.reshape(len(self.values), -1)

    def label(self, occurrence: int) -> str:
        """How a person names the occurrence at this index of `series`."""
        year, position = divmod(occurrence, self.level.n_seasons)
        return self.level.label(position, self.first_year + year)


def windows_of_dates(
    n_hydros: int, hydro: Ints, day: Ints, value_m3s: Floats
) -> tuple[InflowHistory, list[int]]:
    """Windows for records that have one date each, and for every hydro how many records shared a window.

    The distance between a hydro's records tells what a date stands for: that day, the days until the next record
    (weeks, ten days), or the whole month or months that begin with the month of the date. Among days or weeks, a record
    that is alone in its month and exactly a month from its neighbour stands for the month. Records that would stand
    for the same window are replaced by their mean. Records must be sorted by hydro and day.
    """
    starts, ends, values, hydros, merged = [], [], [], [], []
    for h in range(n_hydros):
        mine = hydro == h
        start, end = _windows(day[mine])
        unique, inverse, counts = np.unique(start, return_inverse=True, return_counts=True)
        starts.append(unique)
        ends.append(end[np.searchsorted(start, unique)] if len(start) else end)
        values.append(np.bincount(inverse, weights=value_m3s[mine], minlength=len(unique)) / counts)
        hydros.append(np.full(len(unique), h, dtype=np.int64))
        merged.append(int(counts[counts > 1].sum()))
    history = InflowHistory(
        n_hydros, np.concatenate(hydros), np.concatenate(starts), np.concatenate(ends), np.concatenate(values)
    )
    return history, merged


def _windows(day: Ints) -> tuple[Ints, Ints]:
    gap = float(np.median(np.diff(day))) if len(day) > 1 else DAYS_PER_MONTH
    if gap >= MONTHLY_GAP:
        n_months = max(1, round(gap / DAYS_PER_MONTH))
        months = day.astype("datetime64[D]").astype("datetime64[M]")
        return _days(months), _days(months + n_months)
    length = 1 if gap <= DAILY_GAP else round(gap)
    end = day + length
    if length > 1:
        until_next = np.diff(day)
        end[:-1] = np.where(until_next <= 1.5 * gap, day[1:], end[:-1])
    months = day.astype("datetime64[D]").astype("datetime64[M]")
    is_month = _is_monthly(day, months)
    start = np.where(is_month, _days(months), day)
    end = np.where(is_month, _days(months + 1), end)
    end[:-1] = np.where(start[1:] > start[:-1], np.minimum(end[:-1], start[1:]), end[:-1])
    return start, end


def _is_monthly(day: Ints, months: NDArray[np.datetime64]) -> NDArray[np.bool_]:
    """Which dates are alone in their month and have the same date of the month before or after as neighbour."""
    steps, place = np.diff(months.astype(np.int64)), day - _days(months)
    is_alone, is_regular = np.ones(len(day), dtype=bool), np.zeros(len(day), dtype=bool)
    is_alone[1:] &= steps > 0
    is_alone[:-1] &= steps > 0
    follows = (steps == 1) & (np.diff(place) == 0)
    is_regular[1:] |= follows
    is_regular[:-1] |= follows
    return is_alone & is_regular


def _days(dates: NDArray[np.datetime64]) -> Ints:
    return dates.astype("datetime64[D]").astype(np.int64)


def observe(history: InflowHistory, level: Level) -> Observations:
    """One number per hydro and occurrence of ``level``, over all years that the records touch."""
    if not len(history.hydro):
        empty = np.full((history.n_hydros, 0, level.n_seasons), np.nan)
        return Observations(level, EPOCH.year, empty, np.zeros_like(empty))
    # One year more on either side: a season may begin in the year before the first record.
    first_year = max(dt.MINYEAR, (EPOCH + dt.timedelta(days=int(history.start_day.min()))).year - 1)
    last_year = min(dt.MAXYEAR - 1, (EPOCH + dt.timedelta(days=int(history.end_day.max()))).year + 1)
    n_years = last_year - first_year + 1
    starts, ends = level.bounds(first_year, n_years)
    record, occurrence, days = _overlaps(history, starts, ends)
    n = len(starts)
    place = history.hydro[record] * n + occurrence
    size = history.n_hydros * n
    hours, value = HOURS_PER_DAY * days, history.value_m3s[record]
    weighted = np.bincount(place, weights=value * hours, minlength=size)
    total = np.bincount(place, weights=hours, minlength=size)
    single = np.bincount(place, minlength=size) == 1
    coverage = (total / (HOURS_PER_DAY * np.tile(ends - starts, history.n_hydros))).reshape(
        -1, n_years, level.n_seasons
    )
    mean = np.divide(weighted, total, out=np.full(size, np.nan), where=total > 0.0)
    alone = np.zeros(size)
    alone[place] = value
    mean[single] = alone[single]  # a record that is alone keeps its last bit
    values = np.where(coverage >= 1.0, mean.reshape(coverage.shape), np.nan)
    used = np.flatnonzero((coverage > 0.0).any(axis=(0, 2)))
    kept = slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 0)
    return Observations(level, first_year + kept.start, values[:, kept], coverage[:, kept])


def _overlaps(history: InflowHistory, starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Every pair of a record and an occurrence that share days: record, occurrence, days; in order of records."""
    first = np.searchsorted(ends, history.start_day, side="right")
    last = np.searchsorted(starts, history.end_day, side="left")
    counts = np.maximum(last - first, 0)
    record = np.repeat(np.arange(len(first)), counts)
    occurrence = np.arange(len(record)) - np.repeat(np.cumsum(counts) - counts, counts) + first[record]
    shared = np.minimum(history.end_day[record], ends[occurrence]) - np.maximum(
        history.start_day[record], starts[occurrence]
    )
    is_shared = shared > 0
    return record[is_shared], occurrence[is_shared], shared[is_shared]
