"""Histories that the tests of fitting share: written season by season, or long ones of a made-up river."""

from __future__ import annotations

import numpy as np

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.stochastic.fitting import GivenModel, InflowHistory, levels_of
from cobre.stochastic.fitting.autocorrelation import AnnualMeans, CentredSeries
from cobre.stochastic.fitting.closure import close
from cobre.stochastic.fitting.fit import fit_observations
from cobre.stochastic.fitting.history import Observations
from cobre.stochastic.fitting.statistics import moments

MONTHS = SeasonDefinitions("monthly", tuple(Season(m, f"m{m}", m + 1) for m in range(12)))
QUARTERS = tuple(Season(12 + q, f"q{q}", 3 * q + 1, 1, 3 * q + 3) for q in range(4))


def grid(buckets, first_years=None):
    """(1, years, seasons) from one list of observations per season, each beginning in its first year."""
    first_years = first_years or [0] * len(buckets)
    first = min(first_years)
    last = max(year + len(bucket) for year, bucket in zip(first_years, buckets, strict=True))
    values = np.full((1, last - first, len(buckets)), np.nan)
    for season, (year, bucket) in enumerate(zip(first_years, buckets, strict=True)):
        values[0, year - first : year - first + len(bucket), season] = bucket
    return values


def centred(buckets, first_years=None):
    values = grid(buckets, first_years)
    _, mean, std = moments(values)
    return CentredSeries.of(values.reshape(1, -1), mean, std)


def annual(buckets):
    values = grid(buckets)
    return AnnualMeans.of(values.reshape(1, -1), len(buckets))


def month_days(first, count):
    """Starts and ends in days since 1970 of ``count`` months from the month ``first``."""
    months = np.datetime64(first, "M") + np.arange(count + 1)
    days = months.astype("datetime64[D]").astype(np.int64)
    return days[:-1], days[1:]


def monthly_history(values, first="1931-01"):
    """Records of whole months from values (hydros, months); NaN leaves a month out."""
    values = np.asarray(values, dtype=float)
    starts, ends = month_days(first, values.shape[1])
    hydro, month = np.nonzero(~np.isnan(values))
    return InflowHistory(len(values), hydro, starts[month], ends[month], values[hydro, month])


def river(n_years, n_hydros=2, seed=5):
    """Positive monthly inflows (hydros, months) that rise and fall over the year, each month going with the last."""
    rng = np.random.default_rng(seed)
    month = np.arange(12 * n_years) % 12
    level = 1.5 + np.cos(month / 2.0)
    noise = rng.normal(size=(n_hydros, 12 * n_years))
    noise[1:] = 0.6 * noise[:1] + 0.8 * noise[1:]
    z = np.zeros_like(noise)
    for t in range(1, z.shape[1]):
        z[:, t] = 0.6 * z[:, t - 1] + 0.8 * noise[:, t]
    size = 40.0 * (1 + np.arange(n_hydros))[:, np.newaxis]
    return np.maximum(size * level * (1.0 + 0.3 * z), 1.0)


def simulated(phi, mean, std, n_years, seed, mixing=None):
    """Inflows (hydros, months) of a periodic autoregression with coefficients (hydros, 12, lags)."""
    n_hydros, n_seasons, n_lags = phi.shape
    ratio = close(phi).ratio
    noise = np.random.default_rng(seed).normal(size=((n_years + 20) * n_seasons, n_hydros))
    if mixing is not None:
        noise = noise @ np.linalg.cholesky(mixing).T
    z = np.zeros((len(noise) + n_lags, n_hydros))
    for t, each in enumerate(noise):
        season = t % n_seasons
        z[t + n_lags] = ratio[:, season] * each
        for lag in range(1, n_lags + 1):
            z[t + n_lags] += phi[:, season, lag - 1] * z[t + n_lags - lag]
    kept = z[-n_years * n_seasons :].T
    return np.tile(mean, (1, n_years)) + np.tile(std, (1, n_years)) * kept


def fitted(values, options=None, given=None):
    """The fit of whole years of months (hydros, months), however many."""
    level = levels_of(MONTHS)[0]
    grid = np.asarray(values).reshape(len(values), -1, 12)
    observations = Observations(level, 1, grid, np.ones_like(grid))
    return fit_observations([(observations, given or GivenModel())], range(12), options)


def known_process():
    month = np.arange(12)
    phi = np.zeros((3, 12, 3))
    phi[0, :, 0] = 0.55 + 0.2 * np.sin(month)
    phi[1, :, 0], phi[1, :, 1] = 0.4, 0.25
    phi[2, :, 0], phi[2, :, 1], phi[2, :, 2] = 0.35, 0.15, 0.2
    mean = np.array([[100.0], [500.0], [20.0]]) * (1.5 + np.cos(month / 2))
    return phi, mean, 0.35 * mean
