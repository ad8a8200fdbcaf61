"""Water under way between plants: how long it takes, and what of it is state.

Water that a plant releases evenly during a period arrives evenly during as many hours, ``travel_time_hours`` later. A
part may arrive in the period itself or in later ones of the stage; what arrives in the ``d``-th stage after is in
bucket ``d`` of the plant below, in hm3. All plants above share the buckets of a plant. As a stage begins, bucket 1
arrives and each other one moves on by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case, DatedValue
from cobre.core.clock import Clock, Interval
from cobre.core.horizon import HM3_PER_M3S_HOUR


class Arc(NamedTuple):
    """A river that takes time: from hydro ``source`` to hydro ``target``, the one below it, both as indices."""

    source: int
    target: int
    hours: float


@dataclass(frozen=True, eq=False)
class StageTransit:
    """What happens to released water in one stage."""

    same_stage: tuple[Floats, ...]
    """By arc ``[period of release, period of arrival]``: shares that arrive in the stage itself."""
    deposited: tuple[Floats, ...]
    """By arc ``[period of release, lag]``: shares that go into bucket 1, 2, ... of the plant below."""
    density: tuple[Floats, ...]
    """By ring ``[period]``: shares of bucket 1 that arrive in each period."""


class Transit:
    """The rivers of a case that take time, and the buckets of water under way in them.

    What would arrive after the last stage leaves the study, unless the study ``is_open_ended``: cuts price its end.
    """

    def __init__(self, case: Case, *, is_open_ended: bool) -> None:
        self._case = case
        self.clock = Clock(case.horizon)
        self.is_open_ended = is_open_ended
        self.arcs = tuple(
            Arc(h, plant.downstream, plant.travel_time_hours)
            for h, plant in enumerate(case.system.hydros)
            if plant.travel_time_hours > 0.0 and plant.downstream is not None
        )
        self.rings = tuple(sorted({arc.target for arc in self.arcs}))
        """Plants that water is under way to, as indices."""

    @cached_property
    def _shares(self) -> list[list[list[dict[int, list[float]]]]]:
        """``[stage][arc][period]``: shares of the released water by stage and period of arrival."""
        return [
            [
                [self._shares_of(arc, stage, begin, hours) for begin, hours in _periods(self.clock, stage)]
                for arc in self.arcs
            ]
            for stage in range(self.clock.n_stages)
        ]

    def _shares_of(self, arc: Arc, stage: int, begin: float, hours: float) -> dict[int, list[float]]:
        found = self.clock.arrivals(stage, begin + arc.hours, begin + arc.hours + hours)
        return {
            later: [each / hours for each in inside]
            for later, inside in found.items()
            if self.is_open_ended or later < self.clock.n_stages
        }

    @cached_property
    def _seeds(self) -> list[dict[int, float]]:
        """By arc, hm3 that was released before the study, by stage of arrival."""
        start = self._case.horizon.stages[0].start_date
        found: list[dict[int, float]] = []
        for arc in self.arcs:
            volumes: dict[int, float] = {}
            for window in self._case.initial.defluences:
                if window.entity == arc.source:
                    begin = 24.0 * (window.start_date - start).days + arc.hours
                    end = 24.0 * (window.end_date - start).days + arc.hours
                    for stage, inside in self.clock.arrivals(0, begin, end).items():
                        if self.is_open_ended or stage < self.clock.n_stages:
                            volume = HM3_PER_M3S_HOUR * sum(inside) * window.value
                            volumes[stage] = volumes.get(stage, 0.0) + volume
            found.append(volumes)
        return found

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """By ring, how many buckets it has: as many stages ahead as water can arrive."""
        return tuple(self._depth_of(self._arcs_of(ring)) for ring in self.rings)

    def _depth_of(self, arcs: Sequence[int]) -> int:
        released = (
            later - stage
            for stage, by_arc in enumerate(self._shares)
            for a in arcs
            for shares in by_arc[a]
            for later in shares
        )
        seeded = (stage + 1 for a in arcs for stage in self._seeds[a])
        return max([*released, *seeded], default=0)

    def _arcs_of(self, ring: int) -> list[int]:
        return [a for a, arc in enumerate(self.arcs) if arc.target == ring]

    @property
    def n_components(self) -> int:
        """Of the state: buckets of all rings."""
        return sum(self.depth)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """By ring, where its buckets begin among all components."""
        return tuple(int(each) for each in np.cumsum([0, *self.depth])[:-1])

    def ring_of(self, arc: Arc) -> int:
        """Position among the rings."""
        return self.rings.index(arc.target)

    @cached_property
    def seed(self) -> Floats:
        """``[component]``: water under way as the study begins."""
        found = np.zeros(self.n_components)
        for arc, volumes in zip(self.arcs, self._seeds, strict=True):
            first = self.starts[self.ring_of(arc)]
            for stage in sorted(volumes):
                found[first + stage] += volumes[stage]
        return found

    @property
    def names(self) -> list[str]:
        """Of the components."""
        ids = [self._case.system.hydros[ring].id for ring in self.rings]
        return [
            f"in_transit{lag + 1}:{id}" for id, n in zip(ids, self.depth, strict=True) for lag in range(n)
        ]

    def intervals(self, stage: int) -> list[Interval]:
        """By component, when the water arrives that is under way as ``stage`` ends."""
        return [self.clock.interval(stage + lag + 1) for n in self.depth for lag in range(n)]

    def at(self, stage: int) -> StageTransit:
        """What happens in a stage of the study."""
        n_periods = len(self.clock.period_hours(stage))
        same_stage, deposited = [], []
        for arc, of_periods in zip(self.arcs, self._shares[stage], strict=True):
            within = np.zeros((n_periods, n_periods))
            later = np.zeros((n_periods, self.depth[self.ring_of(arc)]))
            for p, shares in enumerate(of_periods):
                for arrival, inside in shares.items():
                    if arrival == stage:
                        within[p] = inside
                    else:
                        later[p, arrival - stage - 1] = sum(inside)
            same_stage.append(within)
            deposited.append(later)
        density = tuple(self._density(ring, stage) for ring in self.rings)
        return StageTransit(tuple(same_stage), tuple(deposited), density)

    def _density(self, ring: int, stage: int) -> Floats:
        """From the calendar alone, as if every stage before had released evenly; by duration in the first stage.

        Before a stage of a cycle come earlier rounds.
        """
        lengths = np.array(self.clock.period_hours(stage))
        arrived = np.zeros(len(lengths))
        arc = self.arcs[self._arcs_of(ring)[0]]
        first = self.clock.horizon.policy_graph.cycle_start
        if first is not None and stage >= first:
            stage += (self.clock.n_stages - first) * (1 + max(self.depth))
        for before in range(stage):
            hours = self.clock.hours(before)
            inside = self.clock.arrivals(before, arc.hours, arc.hours + hours).get(stage)
            if inside is not None:
                arrived += np.array(inside) / hours
        if not arrived.any():
            arrived = lengths
        shares: Floats = arrived / arrived.sum()
        return shares

    def unfinished_seeds(self) -> list[DatedValue]:
        """Releases before the study of which some water arrives only after it."""
        start, end = self._case.horizon.stages[0].start_date, self.clock.start(self.clock.n_stages)
        hours = {arc.source: arc.hours for arc in self.arcs}
        return [
            window
            for window in self._case.initial.defluences
            if window.entity in hours and 24.0 * (window.end_date - start).days + hours[window.entity] > end
        ]


def _periods(clock: Clock, stage: int) -> Sequence[tuple[float, float]]:
    """Start, counted from that of the stage, and hours of each period."""
    lengths = clock.period_hours(stage)
    return list(zip(np.cumsum([0.0, *lengths])[:-1].tolist(), lengths, strict=True))
