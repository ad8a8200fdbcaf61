"""Records that no river has: one value for months, a level that changes for good, the records of another plant."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np

from cobre.arrays import Floats
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import Observations

__all__ = ["check_repeats", "check_shifts", "copies"]

SAME = 1e-9
"""Relative to the plant's largest flow: what counts as one value."""
FEWEST_REPEATS = 6
LEAST_P_VALUE = 0.001
LEAST_SHIFT, MOST_SHIFT = 1.5, 100.0
"""Ratio of the means of the years before and after a shift; a larger one is one of units."""
COPIED_SHARE = 0.9
FEWEST_COPIED = 24


def check_repeats(observations: Observations, exempt: Collection[int | None] = ()) -> Iterator[Finding]:
    """Observations in a row that all are the same: half a year of them, a year of zeros or of rounded flows.

    ``exempt`` are hydros of which that is expected, because a record lasts for several seasons.
    """
    n_seasons = observations.level.n_seasons
    for h, series in enumerate(observations.series):
        known = series[~np.isnan(series)]
        if h in exempt or len(known) <= FEWEST_REPEATS:
            continue
        first, count = _longest_run(series)
        if count == len(known):
            continue  # a constant series, which has its own warning
        value = float(series[first])
        is_rounded = value == 0.0 or bool((known == np.round(known)).all())
        if count >= max(FEWEST_REPEATS, n_seasons if is_rounded else n_seasons // 2):
            yield Finding(
                "warning",
                "OutOfRange",
                f"{count} observations in a row, {observations.label(first)} to "
                f"{observations.label(first + count - 1)}, all are {value:g} m3/s",
                "check the records: a gauge may have stood still, or missing records been filled with one value; "
                "leave out what was not observed",
                h,
                value=value,
            )


def check_shifts(observations: Observations) -> Iterator[Finding]:
    """Years after which a plant has much more or less water than before: Pettitt's test of whole years' means."""
    for h, values in enumerate(observations.values):
        whole = np.flatnonzero(~np.isnan(values).any(axis=1))
        means = values[whole].mean(axis=1)
        place, p_value = _pettitt(means)
        if p_value >= LEAST_P_VALUE:
            continue
        before, after = float(means[:place].mean()), float(means[place:].mean())
        if min(before, after) <= 0.0:
            continue
        if LEAST_SHIFT <= max(before / after, after / before) < MOST_SHIFT:
            last = observations.first_year + int(whole[place - 1])
            yield Finding(
                "warning",
                "OutOfRange",
                f"its years have {before:.4g} m3/s until {last} and {after:.4g} m3/s after (Pettitt's test, "
                f"p = {p_value:.0e}): the model mixes both",
                "check for another gauge, rating curve, dam or withdrawal, and keep the years that are like the future",
                h,
                value=after / before,
            )


def copies(observations: Observations) -> list[tuple[int, int]]:
    """Pairs of hydros of which nearly all common observations are the same number; each with the first such one."""
    series = observations.series
    known = ~np.isnan(series)
    found = []
    for h in range(1, len(series)):
        common = known[:h] & known[h] & (series[h] != 0.0)
        counts = common.sum(axis=1)
        same = (common & (series[:h] == series[h])).sum(axis=1)
        alike = np.flatnonzero((counts >= FEWEST_COPIED) & (same > COPIED_SHARE * counts))
        if len(alike) and len(np.unique(series[h, known[h]])) > 1:
            found.append((h, int(alike[0])))
    return found


def _longest_run(series: Floats) -> tuple[int, int]:
    """First index and length of the longest run of one value."""
    is_same = np.abs(np.diff(series)) <= SAME * np.nanmax(np.abs(series))
    breaks = np.flatnonzero(np.concatenate([[True], ~is_same, [True]]))
    lengths = np.diff(breaks)
    lengths[np.isnan(series[breaks[:-1]])] = 0
    longest = int(np.argmax(lengths))
    return int(breaks[longest]), int(lengths[longest])


def _pettitt(values: Floats) -> tuple[int, float]:
    """Where a series most likely changes its level (index of the first value after), and the p-value of the change."""
    n = len(values)
    if n < 2:
        return 0, 1.0
    ahead = np.sign(values[:, np.newaxis] - values).sum(axis=1)
    statistic = np.abs(np.cumsum(ahead))[:-1]
    place = int(np.argmax(statistic)) + 1
    return place, min(1.0, 2.0 * math.exp(-6.0 * float(statistic.max()) ** 2 / (n**3 + n**2)))
