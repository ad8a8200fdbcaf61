"""How well a fitted model reproduces the history: tables of observed against synthetic, and a verdict per plant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.measures import droughts, season_measures, year_deviation
from cobre.stochastic.fitting.model import InflowFit, LevelFit, ResidualKind
from cobre.stochastic.fitting.significance import jarque_bera, ljung_box
from cobre.stochastic.fitting.spatial import correlation_matrix
from cobre.stochastic.fitting.synthetic import SeriesDrawer

__all__ = ["FEWEST_SERIES", "Band", "LevelDiagnostics", "diagnose"]

FEWEST_SERIES = 100
BAND = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Band:
    """An observed measure beside what synthetic series have of it: their mean and the band of nine in ten."""

    observed: Floats
    mean: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, observed: Floats, synthetic: Floats) -> Band:
        """``synthetic`` has one axis more, the series, in front."""
        ordered = np.sort(synthetic, axis=0)
        total = np.add.accumulate(synthetic, axis=0)[-1]
        return cls(observed, total / len(synthetic), *(_quantile(ordered, share) for share in BAND))

    @property
    def is_outside(self) -> NDArray[np.bool_]:
        """Where the observed value is not in the band; a hair's breadth is no reason."""
        margin = 1e-9 * (np.abs(self.low) + np.abs(self.high))
        return np.asarray((self.observed < self.low - margin) | (self.observed > self.high + margin))


def _quantile(ordered: Floats, share: float) -> Floats:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    result: Floats = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return result


@dataclass(frozen=True, eq=False)
class LevelDiagnostics:
    """Everything measured of one level. Axes: measures, hydros, seasons."""

    fit: LevelFit
    n_series: int
    seasons: Band
    """`SEASON_MEASURES` (4, hydros, seasons)."""
    years: Band
    """`YEAR_MEASURES` (3, hydros)."""
    pairs: Band
    """Correlation between standardised inflows (hydros, hydros)."""
    negative_share: Floats
    """Of synthetic inflows (hydros)."""
    ljung_box: Floats
    """Statistic and p-value (2, hydros)."""
    normality: Floats
    """Skewness, excess kurtosis, Jarque-Bera statistic and p-value of residuals (4, hydros)."""


def diagnose(
    fit: InflowFit, n_series: int = FEWEST_SERIES, seed: int = 42, kind: ResidualKind = "normal"
) -> tuple[LevelDiagnostics, ...]:
    """Compare each level with ``n_series`` synthetic series as long as its history."""
    return tuple(_diagnose_level(fit, level, n_series, seed, kind) for level in fit.levels)


def _diagnose_level(
    fit: InflowFit, level: LevelFit, n_series: int, seed: int, kind: ResidualKind
) -> LevelDiagnostics:
    observations = level.observations
    starts, ends = level.level.bounds(observations.first_year, observations.n_years)
    measure = _Measures(level, ends - starts)
    collected: list[Measured] = []
    # A series has the gaps of the history: bands of a plant with a short record are those of short records.
    is_unknown = np.isnan(observations.series)
    for block in SeriesDrawer(fit, level, seed, kind).blocks(n_series, observations.n_years):
        collected.append(measure.of(np.where(is_unknown, np.nan, block)))
    seasons, years, pairs, negative = (np.concatenate(each) for each in zip(*collected, strict=True))
    observed = [each[0] for each in measure.of(observations.series[np.newaxis])]
    n_hydros = len(level.phi)
    orders = level.orders.max(axis=1, initial=0)
    tests = [ljung_box(level.residuals[h], int(orders[h])) for h in range(n_hydros)]
    shapes = [jarque_bera(level.residuals[h]) for h in range(n_hydros)]
    return LevelDiagnostics(
        level,
        n_series,
        Band.of(observed[0], seasons),
        Band.of(observed[1], years),
        Band.of(observed[2], pairs),
        np.add.accumulate(negative, axis=0)[-1] / n_series,
        np.array(tests).T.reshape(2, n_hydros),
        np.array(shapes).T.reshape(4, n_hydros),
    )


Measured = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class _Measures:
    level: LevelFit
    days: NDArray[np.int64]

    def of(self, values: Floats) -> Measured:
        """All measures of inflows (series, hydros, occurrences): by season, over years, between hydros, share below 0.

        The first axis of each is the series.
        """
        n_series, n_hydros, n = values.shape
        n_seasons = self.level.level.n_seasons
        rows = values.reshape(-1, n)  # of one hydro in one series
        seasons = season_measures(rows, n_seasons)
        dry = droughts(rows, np.tile(self.level.statistics.mean_m3s, (n_series, 1)), self.days)
        years = np.stack([dry.longest, dry.deficit_hm3, year_deviation(rows, n_seasons)])
        std = seasons[1][:, np.newaxis]
        centred = rows.reshape(len(rows), -1, n_seasons) - seasons[0][:, np.newaxis]
        standardised = np.divide(centred, std, out=np.where(np.isnan(centred), np.nan, 0.0), where=std > 0.0)
        pairs = np.stack([correlation_matrix(each)[0] for each in standardised.reshape(values.shape)])
        count = np.maximum((~np.isnan(rows)).sum(axis=1), 1)
        negative = (np.nan_to_num(rows) < 0.0).sum(axis=1) / count
        return (
            seasons.reshape(-1, n_series, n_hydros, n_seasons).transpose(1, 0, 2, 3),
            years.reshape(-1, n_series, n_hydros).transpose(1, 0, 2),
            pairs,
            negative.reshape(n_series, n_hydros),
        )
