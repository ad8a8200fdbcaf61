"""Hours and dates of the stages of a study and of those that follow it.

Hours are those that blocks declare; dates are those of the calendar. After the study come the stages that
``post_study_stages.json`` names, and then copies of the last duration, as many as needed. In a cycle the
stages of the next rounds come instead.
"""

from __future__ import annotations

import datetime as dt
from functools import cached_property

from cobre.core.entities import LeadTime
from cobre.core.horizon import Horizon

Interval = tuple[dt.datetime, dt.datetime]

BEFORE = -1
"""In place of a stage: before the study."""
SLIVER = 1e-9
"""Hours that rounding alone can make."""


class Clock:
    """Stages by index: 0 is the first of the study, and there is one for every later time."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon

    @property
    def n_stages(self) -> int:
        """Of the study."""
        return self.horizon.n_stages

    @cached_property
    def _declared(self) -> list[float]:
        return [
            *(stage.hours for stage in self.horizon.stages),
            *(stage.hours for stage in self.horizon.post_study),
        ]

    def image(self, stage: int) -> int:
        """The stage of the study that a later one repeats in a cycle; any other stage is itself."""
        return self.horizon.policy_graph.stage_of_step(stage)

    def hours(self, stage: int) -> float:
        """Duration."""
        return self._declared[min(self.image(stage), len(self._declared) - 1)]

    def start(self, stage: int) -> float:
        """Hours from the beginning of the study."""
        return sum(self.hours(each) for each in range(stage))

    def period_hours(self, stage: int) -> list[float]:
        """Of each block of a chronological stage of the study; of any other stage as a whole."""
        found = self.image(stage)
        if found < self.n_stages and self.horizon.stages[found].is_chronological:
            return [block.hours for block in self.horizon.stages[found].blocks]
        return [self.hours(stage)]

    def interval(self, stage: int) -> Interval:
        """First and last moment of a stage by the calendar."""
        if stage < self.n_stages:
            found = self.horizon.stages[stage]
            return _midnight(found.start_date), _midnight(found.end_date)
        start = _midnight(self.horizon.stages[-1].end_date)
        start += dt.timedelta(hours=sum(self.hours(each) for each in range(self.n_stages, stage)))
        return start, start + dt.timedelta(hours=self.hours(stage))

    def arrivals(self, stage: int, begin: float, end: float) -> dict[int, list[float]]:
        """Where the hours from ``begin`` to ``end``, counted from the start of ``stage``, lie.

        By stage, from ``stage`` on: hours in each of its periods (`period_hours`). Nothing before ``stage``.
        """
        found: dict[int, list[float]] = {}
        left, each = 0.0, stage
        while left < end - SLIVER:
            lengths = self.period_hours(each)
            inside = []
            for hours in lengths:
                inside.append(max(0.0, min(end, left + hours) - max(begin, left)))
                left += hours
            inside = [hours if hours > SLIVER else 0.0 for hours in inside]
            if any(inside):
                found[each] = inside
            each += 1
        return found

    def stage_at(self, hour: float) -> int:
        """The stage that holds a moment, given in hours from the start; on a boundary the earlier one; -1 before."""
        if hour <= SLIVER:
            return BEFORE
        stage, end = 0, self.hours(0)
        while hour > end + SLIVER:
            stage += 1
            end += self.hours(stage)
        return stage


def decider(clock: Clock, lead: LeadTime, delivery: int) -> int:
    """The stage that decides what stage ``delivery`` generates; `BEFORE` for a decision before the study.

    The delivery itself where the lead time is too short to reach an earlier stage.
    """
    if lead.stages is not None:
        return max(delivery - lead.stages, BEFORE)
    return clock.stage_at(clock.start(delivery + 1) - float(lead.hours or 0.0))


def deciders(clock: Clock, lead: LeadTime) -> list[int]:
    """By delivery stage, those after the study included: the stage that decides it.

    In a cycle as far as the first round decides.
    """
    n, cycle_start = clock.n_stages, clock.horizon.policy_graph.cycle_start
    if cycle_start is None:
        return [decider(clock, lead, m) for m in range(n + len(clock.horizon.post_study))]
    found = [decider(clock, lead, m) for m in range(n)]
    while (stage := decider(clock, lead, len(found))) < n:
        found.append(stage)
    return found


def _midnight(date: dt.date) -> dt.datetime:
    return dt.datetime(date.year, date.month, date.day)
