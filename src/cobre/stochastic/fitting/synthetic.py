"""Series drawn from a fitted model, as a study would draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cobre._native import noise
from cobre.arrays import Floats
from cobre.stochastic.fitting.closure import effective_coefficients
from cobre.stochastic.fitting.model import DEFAULT_PROFILE, InflowFit, LevelFit, ResidualKind
from cobre.stochastic.residual_noise import Lognormal, reach_of_noise

__all__ = ["SeriesDrawer"]

NUMBERS_AT_A_TIME, MOST_SERIES_AT_A_TIME = 1600, 100
"""Inflows of one season that are drawn together: series times hydros. Enough to be fast, and few to save memory."""
FEWEST_WARM_UP_YEARS, MOST_WARM_UP_YEARS = 5, 60
FORGOTTEN = 1e-3
"""What may be left of the start, in which every inflow has its mean."""


@dataclass(frozen=True, eq=False)
class SeriesDrawer:
    """Draws inflows of all hydros for whole years. Series i is the same however many are drawn."""

    fit: InflowFit
    level: LevelFit
    seed: int
    kind: ResidualKind = "normal"

    def blocks(self, n_series: int, n_years: int) -> Iterator[Floats]:
        """Inflows in m³/s (series, hydros, occurrences), a few series at a time."""
        roots = [self._root(season) for season in self.level.level.season_ids]
        size = max(1, min(MOST_SERIES_AT_A_TIME, NUMBERS_AT_A_TIME // max(1, len(self.level.phi))))
        for first in range(0, n_series, size):
            yield self._block(range(first, min(first + size, n_series)), n_years, roots)

    def _block(self, series: range, n_years: int, roots: list[Floats]) -> Floats:
        level, n_hydros, n_seasons = self.level, len(self.level.phi), self.level.level.n_seasons
        mean, std = level.mean_m3s, level.std_m3s
        phi = effective_coefficients(level.phi, level.psi, std, level.annual_std_m3s)
        n_lags, n_before = phi.shape[2], self._warm_up_years()
        generators = [noise.Generator(_seed(self.seed, i)) for i in series]
        # Standardised inflows; the first of them, before the warm-up, are at their means.
        z = np.zeros((n_lags + (n_before + n_years) * n_seasons, len(series), n_hydros))
        for year in range(n_before + n_years):
            eta = self._year_of_noise(generators, roots)
            for season in range(n_seasons):
                t = n_lags + year * n_seasons + season
                value = level.ratio[:, season] * eta[season]
                for lag in range(1, n_lags + 1):
                    value = value + phi[:, season, lag - 1] * z[t - lag]
                z[t] = value
        kept = z[n_lags + n_before * n_seasons :].transpose(1, 2, 0)
        inflows: Floats = np.tile(mean, (1, n_years)) + np.tile(std, (1, n_years)) * kept
        return inflows

    def _year_of_noise(self, generators: list[noise.Generator], roots: list[Floats]) -> Floats:
        """η (seasons, series, hydros)."""
        n_hydros, n_seasons = len(self.level.phi), self.level.level.n_seasons
        eta = np.empty((n_seasons, len(generators), n_hydros))
        if self.kind == "bootstrap":
            for season in range(n_seasons):
                years = self.fit.residual_years(self.level.level.season_ids[season])
                if len(years):
                    eta[season] = years[[generator.below(len(years)) for generator in generators]]
                else:  # a month that the case does not name
                    self._normals(generators, eta[season])
            return eta
        positions = np.arange(n_hydros)
        for season in range(n_seasons):
            self._normals(generators, eta[season])
            noise.correlate(roots[season], positions, eta[season])
            if self.kind != "normal":
                eta[season] = self._shapes[season].apply(eta[season])
        return eta

    @cached_property
    def _shapes(self) -> list[Lognormal]:
        level, found = self.level, []
        mean, std = level.mean_m3s, level.std_m3s
        phi = effective_coefficients(level.phi, level.psi, std, level.annual_std_m3s)
        for s in range(mean.shape[1]):
            before = [(s - lag) % mean.shape[1] for lag in range(1, phi.shape[2] + 1)]
            spread = std[:, before].T
            psi = np.divide(phi[:, s].T * std[:, s], spread, out=np.zeros_like(spread), where=spread > 0.0)
            base = mean[:, s].copy()
            for lag, season in enumerate(before):
                base -= psi[lag] * mean[:, season]
            reach = reach_of_noise(self.kind, mean[:, s].copy(), base, psi)
            found.append(Lognormal.of_model(reach, std[:, s] * level.ratio[:, s]))
        return found

    @staticmethod
    def _normals(generators: list[noise.Generator], rows: Floats) -> None:
        for generator, row in zip(generators, rows, strict=True):
            generator.normals(row)

    def _root(self, season_id: int | None) -> Floats:
        profiles = self.fit.profiles
        name = self.fit.profile_of_season.get(-1 if season_id is None else season_id, DEFAULT_PROFILE)
        root = np.empty_like(profiles[name])
        noise.square_root(np.ascontiguousarray(profiles[name]), root)
        return root

    def _warm_up_years(self) -> int:
        radius = float(self.level.radius.max(initial=0.0))
        if not 0.0 < radius < 1.0:
            return FEWEST_WARM_UP_YEARS
        years = math.ceil(math.log(FORGOTTEN) / math.log(radius))
        return min(MOST_WARM_UP_YEARS, max(FEWEST_WARM_UP_YEARS, years))


def _seed(seed: int, series: int) -> int:
    return noise.siphash13(b"synthetic" + abs(seed).to_bytes(8, "little") + series.to_bytes(4, "little"))
