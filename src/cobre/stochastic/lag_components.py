"""The components of the lag state, stage by stage: what becomes what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.errors import ValidationError
from cobre.stochastic.lag_tracks import Share, Track, Weight
from cobre.stochastic.past import PastRecord
from cobre.stochastic.periods import Period, StageCalendar

__all__ = ["ComponentRows", "Start", "rows_of"]

NOTHING = -1
Term = tuple[int, Weight]
"""Index of an incoming component or `NOTHING`, and the weight of the stage's inflow."""


@dataclass(frozen=True, slots=True)
class Start:
    """A component starts as ``factor`` times the mean inflow from ``begin`` until before ``end``."""

    begin: dt.date
    end: dt.date
    factor: Weight


@dataclass(frozen=True, eq=False)
class ComponentRows:
    """Components with their names and starts, and the terms (stages, components) that they go on as.

    ``weight`` is (stages, components, hydros) where hydros differ.
    """

    n_lags: int
    names: tuple[str, ...]
    source: Ints
    weight: Floats
    starts: tuple[Start | None, ...]

    @classmethod
    def plain(cls, n_stages: int, n_lags: int) -> ComponentRows:
        """Every stage is a whole period: its inflow becomes lag 1, each lag becomes the next one."""
        source = np.tile(np.arange(NOTHING, n_lags - 1, dtype=np.int64), (n_stages, 1))
        weight = np.zeros((n_stages, n_lags))
        weight[:, :1] = 1.0
        return cls(n_lags, _lag_names(n_lags), source, weight, (None,) * n_lags)

    def without_idle(self) -> ComponentRows:
        """Only the lags and those components that some other component is made of."""
        keep = list(range(len(self.names)))
        while True:
            kept = [
                k
                for k in keep
                if k < self.n_lags or any((self.source[:, other] == k).any() for other in keep if other != k)
            ]
            if kept == keep:
                break
            keep = kept
        place = np.full(len(self.names) + 1, NOTHING)
        place[keep] = np.arange(len(keep))
        return replace(
            self,
            names=tuple(self.names[k] for k in keep),
            source=place[self.source[:, keep]],
            weight=self.weight[:, keep],
            starts=tuple(self.starts[k] for k in keep),
        )


def rows_of(
    calendar: StageCalendar,
    tracks: Sequence[Track],
    n_lags: int,
    past: PastRecord,
    is_lagged: NDArray[np.bool_],
) -> ComponentRows:
    """The components for lags of all levels; ``is_lagged`` says which hydros have lags."""
    names = list(_lag_names(n_lags))
    starts: list[Start | None] = [None] * n_lags
    gatherers: list[_Gatherer] = []
    for place, track in enumerate(tracks):
        gatherers.append(_Gatherer(track, len(names)))
        names += gatherers[-1].names("" if place == 0 else f"_level{place + 1}")
        starts += _starts(calendar, track, past, is_lagged)
    terms = [_terms(calendar, gatherers, n_lags, t) for t in range(len(calendar.stages))]
    source = np.array([[term[0] for term in row] for row in terms], dtype=np.int64)
    shape = np.broadcast_shapes(*(np.shape(term[1]) for row in terms for term in row))
    weight = np.array([[np.broadcast_to(term[1], shape) for term in row] for row in terms])
    return ComponentRows(n_lags, tuple(names), source, weight, tuple(starts)).without_idle()


@dataclass(frozen=True, slots=True)
class _Gatherer:
    """The components of one level: the mean of its period under way, then those of periods that have ended."""

    track: Track
    place: int

    @property
    def n_ended(self) -> int:
        """Ended periods that are kept until the level begins; later they are lags."""
        return self.track.needed if self.track.first else 0

    def names(self, suffix: str) -> list[str]:
        ended = [f"inflow_mean{suffix}_lag{k + 1}" for k in range(self.n_ended)]
        return [f"inflow_so_far{suffix}", *ended]

    def mean(self, share: Share) -> Term:
        """The mean of the period with this stage."""
        return (NOTHING, 1.0) if np.all(share.weight == 1.0) else (self.place, share.weight)

    def ended(self, share: Share) -> list[Term]:
        """The means of ended periods after a stage with this share."""
        kept: list[Term] = [(self.place + 1 + k, 0.0) for k in range(self.n_ended)]
        return [self.mean(share), *kept][: self.n_ended] if share.is_last else kept

    def terms(self, t: int) -> list[Term]:
        """The level's components after stage ``t``."""
        nothing: list[Term] = [(NOTHING, 0.0)] * (1 + self.n_ended)
        share = self.track.shares.get(t)
        if share is None:
            return nothing
        so_far = (NOTHING, share.spill) if share.is_last else (self.place, share.weight)
        return [so_far, *(self.ended(share) if t < self.track.first else nothing[1:])]


def _terms(calendar: StageCalendar, gatherers: Sequence[_Gatherer], n_lags: int, t: int) -> list[Term]:
    """What every component is after stage ``t``."""
    by_level = {gatherer.track.level: gatherer for gatherer in gatherers}
    active = by_level[calendar.level[t]]
    following = by_level[calendar.level[min(t + 1, len(calendar.stages) - 1)]]
    share = active.track.shares[t]
    lags: list[Term] = [(k, 0.0) for k in range(n_lags)]
    if following is not active:
        means = following.ended(following.track.shares[t])[:n_lags]
        lags = means + [(NOTHING, 0.0)] * (n_lags - len(means))
    elif share.is_last:
        lags = [active.mean(share), *lags[:-1]]
    return [*lags, *(term for gatherer in gatherers for term in gatherer.terms(t))]


def _starts(
    calendar: StageCalendar, track: Track, past: PastRecord, is_lagged: NDArray[np.bool_]
) -> list[Start | None]:
    """How the components of a level start."""
    begin, running = calendar.stages[0].start_date, track.running
    starts: list[Start | None] = [
        Start(running.start, begin, track.observed) if np.any(track.observed) else None
    ]
    oldest = calendar.period[track.first].number - track.needed
    for k in range(1, track.needed + 1 if track.first else 1):
        period = Period.of(calendar.levels[track.level], running.number - k)
        is_used = period.number >= oldest
        if is_used:
            _check_known(calendar, track, period, past, is_lagged)
        starts.append(Start(period.start, period.end, 1.0) if is_used else None)
    return starts


def _check_known(
    calendar: StageCalendar, track: Track, period: Period, past: PastRecord, is_lagged: NDArray[np.bool_]
) -> None:
    known = past.known_days(period.start, period.end)
    lacking = np.flatnonzero(is_lagged & (known < (period.end - period.start).days))
    if len(lacking):
        hydro = int(lacking[0])
        raise ValidationError(
            f"the lags of stage {calendar.stages[track.first].id} reach back to {period.start}, but the inflow of "
            f"hydro index {hydro} from then until {period.end} is known for {known[hydro]} days only",
            kind="CoverageMismatch",
            context={"file": "initial_conditions.json", "field": "past_inflows", "hydro": hydro},
            suggestion="give past_inflows back to that day",
        )


def _lag_names(n_lags: int) -> tuple[str, ...]:
    return tuple(f"inflow_lag{lag + 1}" for lag in range(n_lags))
