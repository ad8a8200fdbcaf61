"""Generation that is decided ahead: which stage decides which delivery, and what is state in between.

A plant that is decided ahead has a *lane*: one slot for each delivery that is decided and not yet made, in MW. The
stage that decides a delivery pays for it; the stage that delivers it must generate it, on the mean of its hours.
Deliveries that were decided before the study are given and cost nothing in it. In a cycle the stages of the next rounds
are deliveries, too; what the last stage hands over has the slots that the round begins with.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case, DatedValue
from cobre.core.clock import BEFORE, Clock, Interval, deciders
from cobre.core.entities import LeadTime
from cobre.core.tables import PostStudyTables


@dataclass(frozen=True)
class Lane:
    """A plant that is decided ahead; stages after the study count on from those in it."""

    thermal: int
    deciders: tuple[int, ...]
    """By delivery stage, those after the study included."""
    n_slots: int
    slots: dict[int, int]
    """By delivery stage: the slot that its commitment has. Those that are never state are not there."""
    turn: tuple[int, int] | None = None
    """Of a cycle: its last stage, and how many stages a round has."""

    def delivers(self, stage: int) -> bool:
        """Whether what the plant generates in a stage was decided before it."""
        return stage in self.slots

    def decided_in(self, stage: int) -> int | None:
        """The delivery that a stage decides for a later one."""
        return next((m for m in self.slots if self.deciders[m] == stage), None)

    def open_after(self, stage: int) -> dict[int, int]:
        """By slot, the delivery that is decided and not made as ``stage`` ends (-1: as the study begins)."""
        found = [m for m in self.slots if self.deciders[m] <= stage < m]
        if self.turn is not None and stage == self.turn[0]:
            return {self.slots[m - self.turn[1]]: m for m in found}
        return {self.slots[m]: m for m in found}


class Commitments:
    """All lanes of a case. Components of the state are slots: first slot 0 of every plant, then slot 1, and so on."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.clock = Clock(case.horizon)
        self.lanes = tuple(
            self._lane(t, plant.lead)
            for t, plant in enumerate(case.system.thermals)
            if plant.lead is not None
        )

    def _lane(self, thermal: int, lead: LeadTime) -> Lane:
        decided_in = deciders(self.clock, lead)
        kept = [m for m, stage in enumerate(decided_in) if self._is_state(thermal, m, stage)]
        n_slots = max(sum(decided_in[m] <= t < m for m in kept) for t in range(BEFORE, self.clock.n_stages))
        slots = {m: rank % n_slots for rank, m in enumerate(kept)}
        return Lane(thermal, tuple(decided_in), n_slots, slots, self._turn)

    @cached_property
    def _turn(self) -> tuple[int, int] | None:
        n, first = self.clock.n_stages, self._case.horizon.policy_graph.cycle_start
        return None if first is None else (n - 1, n - first)

    @cached_property
    def _after(self) -> PostStudyTables:
        """What thermals may do after the study."""
        given = self._case.tables.post_study
        if given is not None:
            return given
        nothing = np.full((len(self._case.system.thermals), len(self._case.horizon.post_study)), np.nan)
        return PostStudyTables(nothing, nothing, nothing)

    def _is_state(self, thermal: int, delivery: int, decided_in: int) -> bool:
        """Decided in the study or delivered in it, and not both in one stage."""
        n_stages = self._case.horizon.n_stages
        if delivery < n_stages or self._turn is not None:
            return decided_in < delivery
        has_cell = not np.isnan(self._after.cost_per_mwh[thermal, delivery - n_stages])
        return has_cell and BEFORE < decided_in < n_stages

    @cached_property
    def components(self) -> list[tuple[int, int]]:
        """Lane and slot of each component."""
        deepest = max((lane.n_slots for lane in self.lanes), default=0)
        return [
            (place, slot)
            for slot in range(deepest)
            for place, lane in enumerate(self.lanes)
            if slot < lane.n_slots
        ]

    @property
    def names(self) -> list[str]:
        """Of the components."""
        thermals = self._case.system.thermals
        return [f"commitment{slot}:{thermals[self.lanes[i].thermal].id}" for i, slot in self.components]

    def deliveries(self, stage: int) -> list[int | None]:
        """By component, the delivery that it stands for as ``stage`` ends; None for a slot that is not in use."""
        return [self.lanes[i].open_after(stage).get(slot) for i, slot in self.components]

    def intervals(self, stage: int) -> list[Interval | None]:
        """By component, when the generation is delivered that is decided as ``stage`` ends."""
        return [None if m is None else self.clock.interval(m) for m in self.deliveries(stage)]

    def limits(self, thermal: int, delivery: int) -> tuple[float, float]:
        """Least and most MW of a delivery."""
        tables, n = self._case.tables, self._case.horizon.n_stages
        delivery = self.clock.image(delivery)
        if delivery >= n:
            after, later = self._after, delivery - n
            return float(after.min_mw[thermal, later]), float(after.max_mw[thermal, later])
        blocks = self._case.horizon.blocks_of(delivery)
        over = self._case.horizon.over_blocks
        return (
            float(over(tables.thermal.min_generation_mw)[thermal, blocks].max()),
            float(over(tables.thermal.max_generation_mw)[thermal, blocks].min()),
        )

    def cost(self, thermal: int, delivery: int, stage: int) -> float:
        """$ of 1 MW during a delivery, in money of ``stage``, which decides it."""
        tables, n = self._case.tables, self._case.horizon.n_stages
        image = self.clock.image(delivery)
        if image < n:
            price = float(tables.thermal.cost_per_mwh[thermal, image])
        else:
            price = float(self._after.cost_per_mwh[thermal, image - n])
        return price * self.clock.hours(delivery) * self._discount(stage, delivery)

    def _discount(self, first: int, last: int) -> float:
        """Factor that brings money of stage ``last`` to stage ``first``; in a cycle with the chance to get there."""
        horizon, found = self._case.horizon, 1.0
        factors = [stage.discount for stage in horizon.stages] + [
            stage.discount for stage in horizon.post_study
        ]
        for stage in map(self.clock.image, range(first, last)):
            found *= factors[stage]
            if self._turn is not None and stage == self._turn[0]:
                found *= sum(horizon.policy_graph.nodes[-1].probabilities)
        return found

    @cached_property
    def seed(self) -> Floats:
        """``[component]``: MW that were decided before the study."""
        found = np.zeros(len(self.components))
        for component, delivery in enumerate(self.deliveries(BEFORE)):
            if delivery is not None:
                thermal = self.lanes[self.components[component][0]].thermal
                value = seeded(self._case.initial.commitments, thermal, self.clock.interval(delivery))
                found[component] = min(
                    max(value, self.limits(thermal, delivery)[0]), self.limits(thermal, delivery)[1]
                )
        return found

    def fixed_deliveries(self) -> list[DatedValue]:
        """What was decided before the study for stages after it."""
        end = self._case.horizon.stages[-1].end_date
        lanes = {lane.thermal for lane in self.lanes}
        return [
            window
            for window in self._case.initial.commitments
            if window.entity in lanes and window.end_date > end
        ]


def seeded(windows: tuple[DatedValue, ...], thermal: int, interval: Interval) -> float:
    """MW that windows give a delivery, on the mean of its days."""
    total = 0.0
    for window in windows:
        if window.entity == thermal:
            total += window.value * overlap_days(window.start_date, window.end_date, interval)
    return total / ((interval[1] - interval[0]).total_seconds() / 86400.0)


def overlap_days(start: dt.date, end: dt.date, interval: Interval) -> float:
    """Days that the days from ``start`` until before ``end`` share with ``interval``."""
    first = max(dt.datetime(start.year, start.month, start.day), interval[0])
    last = min(dt.datetime(end.year, end.month, end.day), interval[1])
    return max(0.0, (last - first).total_seconds() / 86400.0)
