"""How lagged inflows move from one stage to the next.

A lag is the mean inflow of one *period* of the seasonal calendar: a month in a monthly cycle, a week in a weekly
one, a season in a custom one. Where every stage is one whole period, each stage shifts the lags: its inflow z becomes
lag 1, lag 1 becomes lag 2. Where a period has several stages (the weeks of a month), the lags stand still until the
last of them, and then lag 1 becomes the mean of the period, weighted by days; what has been gathered of it so far is
kept in one more component, the *accumulator*, behind the lags. Where months are followed by quarters, more components
gather the means of quarters, and become the lags before the first quarterly stage.

So every outgoing component is an incoming one, or none, plus a weight times z::

    out[k] = in[source[t, k]] + weight[t, k] z          (without the first term where source is -1)

A cut over the outgoing state must use these very expressions, or it would price a state that the forward pass never
reaches. `LagTransition.is_plain_shift` says that they are the simple ones: outgoing lag 1 is z, outgoing lag l is
incoming lag l - 1, in every stage.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import SeasonDefinitions, Stage
from cobre.stochastic.lag_components import ComponentRows, Start, rows_of
from cobre.stochastic.lag_tracks import tracks_of
from cobre.stochastic.past import PastRecord
from cobre.stochastic.periods import Period, StageCalendar

__all__ = ["LagTransition"]


@dataclass(frozen=True, slots=True, eq=False)
class LagTransition:
    """The map of every stage: ``source`` (stages, components) and ``weight`` (stages, components).

    Where some hydros were observed on more days of the first period than others, ``weight`` is (stages, components,
    hydros). Components are lags 1..n_lags, then those that gather means of periods. ``names`` are unique.
    """

    n_lags: int
    names: tuple[str, ...]
    source: Ints
    weight: Floats
    starts: tuple[Start | None, ...]
    """How each component starts; None: from nothing, or for a lag from the period that it stands for."""
    windows: tuple[tuple[dt.date, dt.date], ...] = ()
    """The days that lags 1, 2, ... stand for at the start, where a calendar tells."""

    @classmethod
    def build(
        cls,
        stages: Sequence[Stage],
        n_lags: int,
        seasons: SeasonDefinitions | None = None,
        *,
        past: PastRecord | None = None,
        psi: Floats | None = None,
    ) -> LagTransition:
        """The map for these stages. Without ``seasons`` every stage is a period of its own.

        Days of the first period before the study count in its mean if ``past`` knows them, else they do not. ``psi``
        (stages, lags, hydros) tells which stages and hydros read which lags; without it all read all.
        """
        if n_lags == 0 or seasons is None:
            return cls._of(ComponentRows.plain(len(stages), n_lags), ())
        calendar = StageCalendar.for_lags(stages, seasons)
        level, first = calendar.levels[calendar.level[0]], calendar.period[0].number
        past = PastRecord(np.empty((0, 0))) if past is None else past
        periods = [Period.of(level, first - lag) for lag in range(1, max(n_lags, len(past.lags)) + 1)]
        windows = tuple((period.start, period.end) for period in periods)
        orders, is_lagged = [n_lags] * len(stages), np.ones(past.n_hydros, dtype=bool)
        if psi is not None:
            lags = np.arange(1, n_lags + 1)
            orders = [int((lags * (rows != 0.0).any(axis=1)).max()) for rows in psi]
            is_lagged = (psi != 0.0).any(axis=(0, 1))
        known = past.dated(windows)
        tracks = tracks_of(calendar, orders, known, is_lagged)
        return cls._of(rows_of(calendar, tracks, n_lags, known, is_lagged), windows)

    @classmethod
    def _of(cls, rows: ComponentRows, windows: tuple[tuple[dt.date, dt.date], ...]) -> LagTransition:
        return cls(rows.n_lags, rows.names, rows.source, rows.weight, rows.starts, windows)

    @property
    def n_components(self) -> int:
        return int(self.source.shape[1])

    @property
    def is_plain_shift(self) -> bool:
        """Whether outgoing lag 1 is z and outgoing lag l incoming lag l - 1, in every stage."""
        plain = ComponentRows.plain(len(self.source), self.n_lags)
        return np.array_equal(self.source, plain.source) and np.array_equal(self.weight, plain.weight)

    def advance(self, stage: int, components: Floats, inflow_m3s: Floats) -> Floats:
        """The outgoing components (..., components, hydros) of incoming ones and of inflows (..., hydros)."""
        rows = np.broadcast_shapes(components.shape[:-2], inflow_m3s.shape[:-1])
        outgoing = np.empty((*rows, self.n_components, inflow_m3s.shape[-1]))
        source, weight = self.source[stage].tolist(), self.weight[stage]
        first = 0
        while first < self.n_components:
            last = first + 1  # components that take neighbours of one another move together
            while last < self.n_components and source[last] == source[last - 1] + 1 > 0 <= source[first]:
                last += 1
            taken = (
                components[..., source[first] : source[first] + last - first, :]
                if source[first] >= 0
                else 0.0
            )
            outgoing[..., first:last, :] = taken
            first = last
        for k in range(self.n_components):
            if np.any(weight[k] != 0.0):
                outgoing[..., k, :] += weight[k] * inflow_m3s
        return outgoing

    def initial(self, past: PastRecord) -> Floats:
        """The components (components, hydros) at the start; inflows that ``past`` does not know count as 0."""
        known = past.dated(self.windows)
        start = np.zeros((self.n_components, past.n_hydros))
        for k in range(self.n_components):
            window = self.starts[k]
            if window is not None:
                start[k] = window.factor * known.mean(window.begin, window.end)
            elif k < self.n_lags:
                start[k] = past.lag(k + 1)
        return start
