"""Inflows before the study: what lags and running means start from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.scenarios import InflowObservation, PastInflows

__all__ = ["PastRecord"]


@dataclass(frozen=True, eq=False)
class PastRecord:
    """Mean inflows of past periods, the most recent first, and of single days of the period under way.

    ``lags`` (any number, hydros) has the periods before the one in which the study starts, NaN where unknown.
    ``observations`` are windows of days, which say more than the periods where both know a day.
    """

    lags: Floats
    observations: Sequence[InflowObservation] = ()
    _dated: dict[int, tuple[dt.date, dt.date]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, n_hydros: int, past: Sequence[PastInflows], observations: Sequence[InflowObservation] = ()
    ) -> PastRecord:
        """From the initial conditions of a case."""
        lags = np.full((max((len(item.values_m3s) for item in past), default=0), n_hydros), np.nan)
        for item in past:
            lags[: len(item.values_m3s), item.hydro] = item.values_m3s
        return cls(lags, tuple(observations))

    @property
    def n_hydros(self) -> int:
        return int(self.lags.shape[1])

    def lag(self, lag: int) -> Floats:
        """Mean inflow (hydros) of the ``lag``-th period before the study; 0 where it is not known."""
        return np.nan_to_num(self.lags[lag - 1]) if lag <= len(self.lags) else np.zeros(self.n_hydros)

    def dated(self, windows: Sequence[tuple[dt.date, dt.date]]) -> PastRecord:
        """The record that knows the days of its periods: ``windows[0]`` those of the most recent one."""
        return PastRecord(self.lags, self.observations, dict(enumerate(windows)))

    def known_days(self, start: dt.date, end: dt.date) -> Ints:
        """How many days from ``start`` until before ``end`` are known, by hydro."""
        known: Ints = (~np.isnan(self._days(start, end))).sum(axis=0)
        return known

    def mean(self, start: dt.date, end: dt.date) -> Floats:
        """Mean inflow (hydros) over the known days; 0 where none is known."""
        days = self._days(start, end)
        known = ~np.isnan(days)
        total = np.zeros(self.n_hydros)
        for row, is_known in zip(days, known, strict=True):
            total += np.where(is_known, row, 0.0)
        mean: Floats = np.zeros(self.n_hydros)
        np.divide(total, known.sum(axis=0), out=mean, where=known.any(axis=0))
        return mean

    def _days(self, start: dt.date, end: dt.date) -> Floats:
        """Inflow of each day (days, hydros), NaN where it is not known."""
        days = np.full((max(0, (end - start).days), self.n_hydros), np.nan)

        def rows(first: dt.date, last: dt.date) -> slice:
            return slice(max(0, (first - start).days), max(0, (last - start).days))

        for lag, window in self._dated.items():
            if lag < len(self.lags):
                days[rows(*window)] = self.lags[lag]
        for each in self.observations:
            days[rows(each.start_date, each.end_date), each.hydro] = each.value_m3s
        return days
