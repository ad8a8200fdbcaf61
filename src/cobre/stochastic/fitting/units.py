"""Flows that look as if they were in other units than m³/s."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.wording import listed
from cobre.stochastic.fitting.calendar import EPOCH, Level
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import InflowHistory, Observations

__all__ = ["Surroundings", "check_records", "check_units"]

UNIT_FACTOR = 100.0
"""A thousand times too much or too little differs from the rest by more than this, and natural flows by less."""
CAPACITY_FACTOR = 20.0
"""Turbines take at least a twentieth of their plant's own inflow, and often many times as much."""
ALONE_FACTOR = 10.0
"""How many times a single record in other units exceeds all others of its season, or is below them, at least."""
LEAST_SHARE_OF_CAPACITY = 0.005
THOUSAND = 1000.0
MOST_SINGLE = 0.01
"""Of all records; more than these are no single ones."""
REMEDY = "give m3/s; litres per second are a thousand times more, thousands of m3/s a thousand times less"


def check_records(history: InflowHistory, level: Level) -> Iterator[Finding]:
    """Single records, of days or weeks within a season, far above all others of their plant."""
    starts, ends = level.bounds(EPOCH.year, 1)
    shortest = int((ends - starts).min())
    for h in range(history.n_hydros):
        mine = history.hydro == h
        values, start = history.value_m3s[mine], history.start_day[mine]
        lengths = (history.end_day - history.start_day)[mine]
        positive = values[values > 0.0]
        if len(positive) < 3 or 2 * float(np.median(lengths)) > shortest:
            continue
        is_high = values > UNIT_FACTOR * float(np.median(positive))
        odd = np.flatnonzero(is_high & (values > ALONE_FACTOR * values[~is_high].max()))
        if len(odd) and len(odd) < MOST_SINGLE * len(values):
            days = listed(str(EPOCH + dt.timedelta(days=int(start[row]))) for row in odd)
            value = float(values[odd[0]])
            text = f"the flow from {days} on (the first {value:g} m3/s) is out of proportion to all other records"
            yield Finding("warning", "OutOfRange", f"{text}: are the units right?", REMEDY, h, value=value)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What flows are compared with, by hydro."""

    capacity_m3s: Floats
    """What the turbines can take."""
    recent_m3s: Floats
    """Mean of inflows just before the study; NaN where nothing is known."""
    sources: Sequence[Collection[int] | None]
    """Indices of the hydros whose water can reach it, itself among them; None where pumps lift water to it."""


def check_units(observations: Observations, around: Surroundings) -> Iterator[Finding]:
    """Flows that look as if they were in other units: against themselves, the turbines and recent inflows."""
    with np.errstate(all="ignore"):
        levels = [_typical(series[~np.isnan(series)]) for series in observations.series]
    alone = [_alone(observations, h, typical, around) for h, typical in enumerate(levels)]
    total, largest = float(np.nansum(levels)), float(np.max(around.capacity_m3s, initial=0.0))
    is_low = 0.0 < total < LEAST_SHARE_OF_CAPACITY * largest
    for h, (text, value) in enumerate(alone):
        if not text and not is_low:
            text, value = _trickle(levels, h, around)
        if text:
            yield Finding("warning", "OutOfRange", f"{text}: are the units right?", REMEDY, h, value=value)
    if is_low:
        text = (
            f"all plants together have a median inflow of {total:g} m3/s, but one turbines up to {largest:g}"
        )
        yield Finding("warning", "OutOfRange", f"{text}: are the units right?", REMEDY, None, value=total)


def _alone(observations: Observations, h: int, typical: float, around: Surroundings) -> tuple[str, float]:
    """What is odd about the flows of one hydro."""
    for text, value in (_jump(observations, h), _spikes(observations, h)):
        if text:
            return text, value
    capacity, recent = float(around.capacity_m3s[h]), float(around.recent_m3s[h])
    if capacity > 0.0 and typical > CAPACITY_FACTOR * capacity:
        return (
            f"its median of {typical:g} m3/s is {typical / capacity:.4g} times what its turbines can take",
            typical,
        )
    if recent > 0.0 and typical > 0.0:
        factor = max(typical / recent, recent / typical)
        if factor > UNIT_FACTOR:
            return (
                f"its median of {typical:g} m3/s is {factor:.4g} times off recent inflows of {recent:g}",
                typical,
            )
    return "", 0.0


def _trickle(levels: Sequence[float], h: int, around: Surroundings) -> tuple[str, float]:
    """Turbines that the water of the hydro and of all hydros above could never fill."""
    sources, capacity = around.sources[h], float(around.capacity_m3s[h])
    if sources is None:
        return "", 0.0
    total = float(np.nansum([levels[source] for source in sources]))
    if not 0.0 < total < LEAST_SHARE_OF_CAPACITY * capacity:
        return "", 0.0
    whose = "its median inflow" if len(sources) == 1 else "the median inflow of it and all plants above"
    return f"{whose} is {total:g} m3/s, but its turbines take up to {capacity:g}", total


def _typical(values: Floats) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _jump(observations: Observations, h: int) -> tuple[str, float]:
    """The year whose flows are out of proportion to the other years'."""
    years = [_typical(year[~np.isnan(year)]) for year in observations.values[h]]
    medians = np.array(years)
    positive = medians[medians > 0.0]
    if len(positive) < 2:
        return "", 0.0
    # Of two years nobody can tell which one is right: the second is compared with the first.
    usual = float(np.median(positive)) if len(positive) > 2 else float(positive[0])
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero(
            (medians > UNIT_FACTOR * usual) | ((medians > 0.0) & (medians * UNIT_FACTOR < usual))
        )
    if not len(odd):
        return "", 0.0
    names = listed(str(observations.first_year + int(year)) for year in odd)
    value = float(medians[odd[0]])
    return f"flows of {names} are around {value:g} m3/s where other years have {usual:g}", value


def _spikes(observations: Observations, h: int) -> tuple[str, float]:
    """Single observations far above all others of their season, or below them and ordinary if multiplied by 1000.

    Other low ones may be natural, as may all of a river that falls dry.
    """
    values = observations.values[h]
    is_odd = np.zeros(values.shape, dtype=bool)
    for s, column in enumerate(values.T):
        positive = column[column > 0.0]
        if len(positive) > 2:
            usual = float(np.median(positive))
            is_high = column > UNIT_FACTOR * usual
            is_low = (column > 0.0) & (UNIT_FACTOR * column < usual)
            others = column[(column > 0.0) & ~is_high & ~is_low]
            is_odd[:, s] = is_high & (column > ALONE_FACTOR * others.max())
            if not (column <= 0.0).any():
                thousands = THOUSAND * column
                is_ordinary = (thousands >= others.min()) & (thousands <= others.max())
                is_odd[:, s] |= is_low & is_ordinary & (ALONE_FACTOR * column < others.min())
    odd = np.flatnonzero(is_odd.ravel())
    if not len(odd):
        return "", 0.0
    value = float(values.ravel()[odd[0]])
    names = listed(observations.label(t) for t in odd.tolist())
    return f"the flow of {names} (the first {value:g} m3/s) is out of proportion to other years", value
