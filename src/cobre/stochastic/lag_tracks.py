"""How the inflows of stages add up to the means of periods, for one level of the calendar.

A study may begin with months and go on with quarters. While its stages are months, the lags are months, and what
quarters will need is gathered beside them: the mean of the quarter under way and those of quarters that have ended.
With the first quarterly stage these become its lags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.distinct import distinct
from cobre.stochastic.past import PastRecord
from cobre.stochastic.periods import Period, StageCalendar, refused

__all__ = ["Share", "Track", "Weight", "tracks_of"]

Days = int | Ints
Weight = float | Floats
"""One for all hydros, or an array with one for each."""


class Share(NamedTuple):
    """What a stage is of a period: its weight in the mean, whether it ends it, its weight in the next mean."""

    weight: Weight
    is_last: bool
    spill: Weight


@dataclass(frozen=True)
class Track:
    """One level: ``shares[t]`` for the stages before ``end``, of which those from ``first`` on have this level.

    Stages before ``first`` are of a finer level. ``needed`` is how many lags its first stage must have. ``running`` is
    the period in which the study starts; a share ``observed`` of its mean was observed before the study. Where some
    hydros were observed on more days than others, their weights in that period differ.
    """

    level: int
    first: int
    end: int
    needed: int
    shares: dict[int, Share]
    running: Period
    observed: Weight


def tracks_of(
    calendar: StageCalendar, orders: Sequence[int], past: PastRecord, is_lagged: NDArray[np.bool_]
) -> list[Track]:
    """A track for every level that stages have, in order of time.

    ``orders`` says how many lags each stage reads, ``is_lagged`` which hydros have lags at all.
    """
    levels = list(dict.fromkeys(calendar.level))
    return [_Gathering(calendar, level, past, is_lagged).track(orders) for level in levels]


@dataclass(frozen=True)
class _Gathering:
    calendar: StageCalendar
    level: int
    past: PastRecord
    is_lagged: NDArray[np.bool_]

    def track(self, orders: Sequence[int]) -> Track:
        own = [t for t, level in enumerate(self.calendar.level) if level == self.level]
        first, end = own[0], own[-1] + 1
        running = self._running(first)
        needed = self._needed(own, orders)
        oldest = self.calendar.period[first].number - (needed if first else 0)
        days = self._days(first, end, oldest)
        self._check_unbroken(first, oldest, running, days)
        observed = self._observed_days(running) if running.number >= oldest else 0
        totals: dict[int, Days] = {running.number: observed}
        for parts in days.values():
            for number, count in parts.items():
                totals[number] = totals.get(number, 0) + count
        last = {number: t for t, parts in days.items() for number in parts}
        last |= {self.calendar.period[t].number: t for t in own}
        shares = {t: self._share(t, parts, totals, last) for t, parts in days.items()}
        share = observed / totals[running.number] if np.any(observed) else 0.0
        return Track(self.level, first, end, needed, shares, running, share)

    def _running(self, first: int) -> Period:
        """The period of this level in which the study starts."""
        if first == 0:
            return self.calendar.period[0]
        return self.calendar.period_at(self.calendar.stages[0].start_date, self.level)

    def _needed(self, own: Sequence[int], orders: Sequence[int]) -> int:
        """Lags that the first stage of the level must have, so that every stage finds as many as it reads."""
        numbers = [self.calendar.period[t].number for t in own]
        return max(0, *(orders[t] - (number - numbers[0]) for t, number in zip(own, numbers, strict=True)))

    def _days(self, first: int, end: int, oldest: int) -> dict[int, dict[int, int]]:
        """By stage and number of the period, from the ``oldest`` on: days of the stage that the period has."""
        found: dict[int, dict[int, int]] = {}
        for t in range(end):
            if t < first:
                parts = {period.number: period for period in self.calendar.touched(t, self.level)}
            else:
                parts = {period.number: period for period in self._own_and_next(t, end)}
            found[t] = {
                number: self.calendar.days_in(t, period)
                for number, period in parts.items()
                if number >= oldest
            }
        return found

    def _own_and_next(self, t: int, end: int) -> list[Period]:
        """The stage's period, and the next one if the stage after it has that."""
        periods = self.calendar.period
        is_followed = t + 1 < end and periods[t + 1].number == periods[t].number + 1
        return [periods[t], periods[t + 1]] if is_followed else [periods[t]]

    def _check_unbroken(
        self, first: int, oldest: int, running: Period, days: dict[int, dict[int, int]]
    ) -> None:
        """Every period that becomes a lag of the first stage of the level was met by stages before it."""
        met = {number for t, parts in days.items() if t < first for number in parts}
        for number in range(max(oldest, running.number), self.calendar.period[first].number if first else 0):
            if number not in met:
                period = Period.of(self.calendar.levels[self.level], number)
                raise refused(
                    self.calendar.stages[first],
                    f"has lags that reach into {period.start} to {period.end}, of which no stage has a day",
                    "let stages follow one another without gaps",
                )

    def _share(self, t: int, parts: dict[int, int], totals: dict[int, Days], last: dict[int, int]) -> Share:
        if not parts:
            return Share(0.0, False, 0.0)
        number = min(parts)
        if not np.any(totals[number]):
            period = Period.of(self.calendar.levels[self.level], number)
            raise refused(
                self.calendar.stages[t],
                f"and the stages beside it have no day of their season ({period.start} to {period.end})",
                "give them the season that they lie in",
            )
        spill = parts.get(number + 1, 0)
        is_last = last[number] == t
        return Share(
            parts[number] / totals[number], is_last, spill / totals[number + 1] if is_last and spill else 0.0
        )

    def _observed_days(self, running: Period) -> Days:
        """Days of the period under way that were observed before the study, by hydro if they differ."""
        start = self.calendar.stages[0].start_date
        if start <= running.start:
            return 0
        known = self.past.known_days(running.start, start)
        counts = distinct(known[self.is_lagged])
        if len(counts) > 1:
            return known
        return int(counts[0]) if counts else 0
