"""What is wrong or remarkable about a history, plant by plant."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from cobre.core.wording import listed
from cobre.stochastic.fitting.calendar import EPOCH, Level
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import InflowHistory, Observations
from cobre.stochastic.fitting.statistics import SeasonKind, SeasonStatistics

__all__ = ["check_bounds", "check_counts", "check_gaps", "check_kinds", "check_lengths", "check_values"]

FEWEST = 2
CODES_OF_MISSING = frozenset({-99.0, -99.9, -99.99, -999.0, -999.9, -999.99, -9999.0, -9999.9, -99999.0})
MIXED = 0.25
"""A record with at least this share of its days in either of two seasons lies across their bound."""
LONGER = 1.5
"""A record that is longer than its season by this factor is reported."""


def check_gaps(observations: Observations) -> Iterator[Finding]:
    """Occurrences without records between a hydro's first and last one, and those that are covered in part only."""
    n_seasons = observations.level.n_seasons
    coverage = observations.coverage.reshape(observations.series.shape)
    for h, series in enumerate(observations.series):
        known = np.flatnonzero(~np.isnan(series))
        if not len(known):
            if coverage[h].any():
                yield _without_whole_season(observations, h, coverage[h])
            continue
        between = np.arange(known[0], known[-1])
        empty = between[coverage[h, between] == 0.0]
        is_inside = (empty // n_seasons > known[0] // n_seasons) & (
            empty // n_seasons < known[-1] // n_seasons
        )
        # Records may well begin and end within a season.
        touched = np.flatnonzero(coverage[h] > 0.0)[1:-1]
        partial = touched[coverage[h, touched] < 1.0]
        named = listed(observations.label(t) for t in empty)
        if is_inside.any():
            yield Finding(
                "error",
                "CoverageMismatch",
                f"has no records for {len(empty)} of {known[-1] - known[0] + 1} periods: {named}",
                "fill the gaps, for instance from a neighbouring gauge, or begin the history after them",
                h,
                value=len(empty),
                rule="5b.31.2",
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


def _without_whole_season(observations: Observations, h: int, coverage: NDArray[np.float64]) -> Finding:
    """Records that never cover a season: most often each lacks its last day."""
    touched = np.flatnonzero(coverage > 0.0)
    return Finding(
        "error",
        "CoverageMismatch",
        f"its records cover no season wholly: of {observations.label(int(touched[0]))} they have "
        f"{100.0 * coverage[touched[0]]:.0f} %, of the best season {100.0 * coverage.max():.0f} %",
        "add the missing days; where records have two dates, end_date is the first day after the record",
        h,
        "end_date",
        float(coverage.max()),
    )


def check_lengths(history: InflowHistory, level: Level) -> Iterator[Finding]:
    """Records that are longer than the seasons, which then all have the same flow."""
    starts, ends = level.bounds(EPOCH.year, 1)
    shortest = int((ends - starts).min())
    length = history.end_day - history.start_day
    for h in range(history.n_hydros):
        longest = int(length[history.hydro == h].max(initial=0))
        if longest > LONGER * shortest:
            yield Finding(
                "warning",
                "CoverageMismatch",
                f"records last up to {longest} days, but a season has {shortest}: seasons within a record have the "
                "same flow, and their lags explain more than in nature",
                "give records as short as the seasons, or seasons as long as the records",
                h,
                value=longest,
            )


def check_bounds(history: InflowHistory, level: Level) -> Iterator[Finding]:
    """Records as long as a season that lie across the bounds of seasons, so that neighbours share their flow."""
    if not len(history.hydro):
        return
    first_year = max(1, (EPOCH + dt.timedelta(days=int(history.start_day.min()))).year - 1)
    last_year = min(dt.MAXYEAR - 1, (EPOCH + dt.timedelta(days=int(history.end_day.max()))).year + 1)
    starts, ends = level.bounds(first_year, last_year - first_year + 1)
    shortest, length = int((ends - starts).min()), history.end_day - history.start_day
    season = np.clip(np.searchsorted(starts, history.start_day, side="right") - 1, 0, len(ends) - 1)
    share = np.minimum(ends[season], history.end_day) - history.start_day
    is_across = (share >= MIXED * length) & (share <= (1.0 - MIXED) * length)
    is_as_long = (length >= (1.0 - MIXED) * shortest) & (length <= LONGER * shortest)
    for h in range(history.n_hydros):
        mine = history.hydro == h
        count, total = int(np.count_nonzero(mine & is_across & is_as_long)), int(np.count_nonzero(mine))
        if 2 * count > total:
            begin = EPOCH + dt.timedelta(days=int(history.start_day[mine & is_across & is_as_long][0]))
            yield Finding(
                "warning",
                "CoverageMismatch",
                f"{count} of {total} records lie in two seasons each, the first from {begin} on: a season mixes two "
                "records, and its lags explain more than in nature",
                "begin records and seasons on the same days, or give records much shorter than the seasons",
                h,
                "start_date",
                count,
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
        is_code = negative > 0 and float(values.min()) in CODES_OF_MISSING
        if negative:
            yield Finding(
                "warning",
                "OutOfRange",
                f"{negative} of {len(values)} records are negative, the least {values.min():g} m3/s; they are used as "
                "they are",
                "leave out what was not observed; many archives write this number there"
                if is_code
                else "check the water balance they come from, or set them to a small positive flow",
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
                f"{len(lacking)} of {len(used)} seasons have fewer than {FEWEST} observations, and a deviation needs "
                f"{FEWEST}: season {listed(str(level.season_ids[s]) for s in lacking)}",
                f"give at least {FEWEST} whole years; {fewest} are recommended",
                h,
                value=int(min(count[s] for s in lacking)),
                rule="5b.28",
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
                rule="5b.20",
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
