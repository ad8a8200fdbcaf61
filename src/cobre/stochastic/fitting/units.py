"""Flows that look as if they were in other units than m³/s."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cobre.core.wording import listed
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import Observations

__all__ = ["check_units"]

Floats = NDArray[np.float64]

UNIT_FACTOR = 100.0
"""A thousand times too much or too little differs from the rest by more than this, and natural flows by less."""
ALONE_FACTOR = 10.0
"""How many times a single record in other units exceeds all others of its season, at least."""
LEAST_SHARE_OF_CAPACITY = 0.005


def check_units(observations: Observations, capacity_m3s: Floats, recent_m3s: Floats) -> Iterator[Finding]:
    """Flows that look as if they were in other units: against themselves, the turbines and recent inflows.

    ``capacity_m3s`` (hydros) is what the turbines can take, ``recent_m3s`` (hydros) the mean of inflows just before
    the study, NaN where nothing is known.
    """
    remedy = "give m3/s; litres per second are a thousand times more, thousands of m3/s a thousand times less"
    with np.errstate(all="ignore"):
        levels = [_typical(series[~np.isnan(series)]) for series in observations.series]
    for h, typical in enumerate(levels):
        text, value = _jump(observations, h)
        if not text:
            text, value = _spikes(observations, h)
        if not text and capacity_m3s[h] > 0.0 and typical > UNIT_FACTOR * capacity_m3s[h]:
            text = f"its median of {typical:g} m3/s is {typical / capacity_m3s[h]:.0f} times what its turbines can take"
            value = typical
        if not text and recent_m3s[h] > 0.0 and typical > 0.0:
            factor = max(typical / recent_m3s[h], recent_m3s[h] / typical)
            if factor > UNIT_FACTOR:
                text = f"its median of {typical:g} m3/s is {factor:.0f} times off recent inflows of {recent_m3s[h]:g}"
                value = typical
        if text:
            yield Finding("warning", "OutOfRange", f"{text}: are the units right?", remedy, h, value=value)
    total, largest = float(np.nansum(levels)), float(np.max(capacity_m3s, initial=0.0))
    if 0.0 < total < LEAST_SHARE_OF_CAPACITY * largest:
        text = (
            f"all plants together have a median inflow of {total:g} m3/s, but one turbines up to {largest:g}"
        )
        yield Finding("warning", "OutOfRange", f"{text}: are the units right?", remedy, None, value=total)


def _typical(values: Floats) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _jump(observations: Observations, h: int) -> tuple[str, float]:
    """The year whose flows are out of proportion to the other years'."""
    years = [_typical(year[~np.isnan(year)]) for year in observations.values[h]]
    medians = np.array(years)
    positive = medians[medians > 0.0]
    if len(positive) < 3:
        return "", 0.0
    usual = float(np.median(positive))
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
    """Single observations far above all others of their season; very low ones may be natural."""
    values = observations.values[h]
    is_odd = np.zeros(values.shape, dtype=bool)
    for s, column in enumerate(values.T):
        positive = column[column > 0.0]
        if len(positive) > 2:
            is_high = column > UNIT_FACTOR * float(np.median(positive))
            others = column[(column > 0.0) & ~is_high]
            is_odd[:, s] = is_high & (column > ALONE_FACTOR * others.max())
    odd = np.flatnonzero(is_odd.ravel())
    if not len(odd):
        return "", 0.0
    value = float(values.ravel()[odd[0]])
    names = listed(observations.label(t) for t in odd.tolist())
    return f"the flow of {names} (the first {value:g} m3/s) is out of proportion to other years", value
