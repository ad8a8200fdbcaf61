"""What is wrong or remarkable about a history, plant by plant."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from cobre.core.wording import listed
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import InflowHistory, Observations
from cobre.stochastic.fitting.statistics import SeasonKind, SeasonStatistics

__all__ = ["check_counts", "check_gaps", "check_kinds", "check_units", "check_values"]

Floats = NDArray[np.float64]

FEWEST = 2
UNIT_FACTOR = 100.0
"""A thousand times too much or too little differs from the rest by more than this, and natural flows by less."""
ALONE_FACTOR = 10.0
"""How many times a single record in other units exceeds all others of its season, at least."""
LEAST_SHARE_OF_CAPACITY = 0.005


def check_gaps(observations: Observations) -> Iterator[Finding]:
    """Occurrences without records between a hydro's first and last one, and those that are covered in part only."""
    n_seasons = observations.level.n_seasons
    coverage = observations.coverage.reshape(observations.series.shape)
    for h, series in enumerate(observations.series):
        known = np.flatnonzero(~np.isnan(series))
        if not len(known):
            continue
        between = np.arange(known[0], known[-1])
        empty = between[coverage[h, between] == 0.0]
        is_inside = (empty // n_seasons > known[0] // n_seasons) & (
            empty // n_seasons < known[-1] // n_seasons
        )
        partial = between[(coverage[h, between] > 0.0) & (coverage[h, between] < 1.0)]
        named = listed(observations.label(t) for t in empty)
        if is_inside.any():
            yield Finding(
                "error",
                "CoverageMismatch",
                f"has no records for {len(empty)} of {known[-1] - known[0] + 1} periods: {named}",
                "fill the gaps, for instance from a neighbouring gauge, or begin the history after them",
                h,
                value=len(empty),
            )
        elif len(empty):
            yield Finding(
                "warning",
                "CoverageMismatch",
                f"has no records for {named} in its first or last year; they are left out",
                "fill the gaps, or begin and end the history with whole years",
                h,
                value=len(empty),
            )
        if len(partial):
            yield Finding(
                "warning",
                "CoverageMismatch",
                f"records cover only a part of {listed(observations.label(t) for t in partial)}; left out",
                "add the missing days",
                h,
                value=len(partial),
            )


def check_values(history: InflowHistory) -> Iterator[Finding]:
    """Hydros without a record, and records below 0."""
    for h in range(history.n_hydros):
        values = history.value_m3s[history.hydro == h]
        if not len(values):
            yield Finding(
                "error",
                "CoverageMismatch",
                "has no inflow history",
                "add its records, or give scenarios/inflow_seasonal_stats.parquet",
                h,
                "hydro_id",
                0,
            )
        negative = int(np.count_nonzero(values < 0.0))
        if negative:
            yield Finding(
                "warning",
                "OutOfRange",
                f"{negative} of {len(values)} records are negative, the least {values.min():g} m3/s; they are used as "
                "they are",
                "check the water balance they come from, or set them to a small positive flow",
                h,
                value=float(values.min()),
            )


def check_counts(
    observations: Observations, statistics: SeasonStatistics, used: Collection[int], fewest: int
) -> Iterator[Finding]:
    """Seasons (by position) with too few observations for any statistics, and those with few."""
    level = observations.level
    for h, count in enumerate(statistics.count):
        if not count.any():
            continue
        lacking = [s for s in used if count[s] < FEWEST]
        few = [s for s in used if FEWEST <= count[s] < fewest]
        if lacking:
            yield Finding(
                "error",
                "CoverageMismatch",
                f"season {listed(str(level.season_ids[s]) for s in lacking)} has "
                f"{listed(str(int(count[s])) for s in lacking)} observations, but a deviation needs {FEWEST}",
                f"give at least {FEWEST} whole years; {fewest} are recommended",
                h,
                value=int(min(count[s] for s in lacking)),
            )
        if few:
            least = int(min(count[s] for s in few))
            yield Finding(
                "warning",
                "CoverageMismatch",
                f"{len(few)} of {len(used)} seasons have fewer than {fewest} observations, one only {least}: the "
                "fitted model is uncertain",
                "give a longer history, or lower estimation.min_observations_per_season if that is all there is",
                h,
                value=least,
            )


def check_kinds(
    observations: Observations, statistics: SeasonStatistics, used: Collection[int]
) -> Iterator[Finding]:
    """Seasons that do not vary, that mostly repeat one value, or that are often negative."""
    texts = {
        SeasonKind.CONSTANT: (
            "all observations are the same; the inflow is taken as certain there",
            "check the records; a gauge that stands still is no constant river",
        ),
        SeasonKind.SATURATED: (
            "more than half of the observations round to one whole number of m3/s; it is taken for all of them",
            "check the records; give the statistics in scenarios/inflow_seasonal_stats.parquet for a very small river",
        ),
        SeasonKind.MANY_NEGATIVE: (
            "more than a tenth of the observations are negative",
            "check the water balance they come from",
        ),
    }
    for h in range(len(statistics.kind)):
        for kind, (text, remedy) in texts.items():
            is_such = (statistics.kind[h] == int(kind)) & (statistics.count[h] >= FEWEST)
            seasons = [s for s in np.flatnonzero(is_such).tolist() if s in used]
            if seasons:
                values = [float(statistics.mean_m3s[h, s]) for s in seasons]
                names = listed(str(observations.level.season_ids[s]) for s in seasons)
                yield Finding("warning", "OutOfRange", f"season {names}: {text}", remedy, h, value=values)


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
