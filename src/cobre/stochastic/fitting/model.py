"""A fitted inflow model, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from cobre.arrays import Floats, Ints

if TYPE_CHECKING:
    from cobre.stochastic.fitting.calendar import Level
    from cobre.stochastic.fitting.findings import Finding
    from cobre.stochastic.fitting.history import Observations
    from cobre.stochastic.fitting.reductions import Reduction
    from cobre.stochastic.fitting.statistics import SeasonStatistics

__all__ = ["FitOptions", "GivenCoefficients", "GivenModel", "InflowFit", "LevelFit", "ResidualKind"]

OrderSelection = Literal["pacf", "pacf_annual", "aic", "bic"]
ResidualKind = Literal["normal", "lognormal", "lognormal_nonnegative", "bootstrap"]

DEFAULT_PROFILE = "default"


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How to fit; the settings of ``estimation`` in a configuration."""

    max_order: int = 6
    order_selection: OrderSelection = "pacf"
    min_observations: int = 30
    max_coefficient_magnitude: float | None = None

    @property
    def is_annual(self) -> bool:
        return self.order_selection == "pacf_annual"


@dataclass(frozen=True, eq=False)
class GivenCoefficients:
    """Coefficients of a level that a case gives; (hydros, seasons) but for ``phi`` (hydros, seasons, P)."""

    phi: Floats
    ratio: Floats
    """NaN where it is to be derived."""
    psi: Floats
    annual_mean_m3s: Floats
    annual_std_m3s: Floats

    @classmethod
    def classical(cls, phi: Floats, ratio: Floats | None = None) -> GivenCoefficients:
        """Without an annual term."""
        none = np.zeros(phi.shape[:2])
        return cls(phi, np.full_like(none, np.nan) if ratio is None else ratio, none, none, none)


@dataclass(frozen=True, eq=False)
class GivenModel:
    """What the case gives of a level instead of having it fitted; None: fit it."""

    mean_m3s: Floats | None = None
    std_m3s: Floats | None = None
    """Both (hydros, seasons); NaN where the case has no statistics: the fitted ones are used there."""
    coefficients: GivenCoefficients | None = None


@dataclass(frozen=True, eq=False)
class LevelFit:
    """The model of one level. Arrays are (hydros, seasons) unless they say otherwise; seasons in calendar order."""

    observations: Observations
    statistics: SeasonStatistics
    mean_m3s: Floats
    """Of the study: those of the case where it gives statistics, else those of the observations; so the deviation."""
    std_m3s: Floats
    orders: Ints
    phi: Floats
    """(hydros, seasons, P): standardised coefficients, 0 beyond the order."""
    psi: Floats
    annual_mean_m3s: Floats
    """Of the annual mean that ends with the season before."""
    annual_std_m3s: Floats
    ratio: Floats
    """Deviation of the noise as a share of the season's deviation."""
    partial: Floats
    """(hydros, seasons, P): partial autocorrelations, NaN where they are not defined."""
    rho: Floats
    """(hydros, seasons, P + 1): observed correlations with the occurrences before."""
    implied_rho: Floats
    """(hydros, seasons, at least P + 1): the same as the model has them."""
    radius: Floats
    """(hydros): what a year multiplies a disturbance by."""
    unexplained: Floats
    """(hydros, occurrences): what the lags leave of standardised inflows, variance about ratio²; NaN if unknown."""
    residuals: Floats
    """(hydros, occurrences): noise that the model needs to reproduce the history, variance about 1; NaN if unknown."""
    reductions: tuple[Reduction, ...] = ()

    @property
    def level(self) -> Level:
        return self.observations.level

    @property
    def has_annual(self) -> bool:
        return bool(self.psi.any())


@dataclass(frozen=True, eq=False)
class InflowFit:
    """Everything fitted. ``profiles`` are correlation matrices over all hydros, by name."""

    options: FitOptions
    levels: tuple[LevelFit, ...]
    profiles: dict[str, Floats]
    profile_of_season: dict[int, str]
    findings: tuple[Finding, ...]

    def place(self, season_id: int | None) -> tuple[LevelFit, int] | None:
        """The level and the position in it of a season."""
        for level in self.levels:
            position = level.level.position(season_id)
            if position is not None:
                return level, position
        return None

    def residual_years(self, season_id: int | None) -> Floats:
        """Residuals (years, hydros) of the years of a season in which every hydro has one."""
        found = self.place(season_id)
        if found is None:
            return np.empty((0, 0))
        level, position = found
        years = level.residuals[:, position :: level.level.n_seasons].T
        return np.ascontiguousarray(years[~np.isnan(years).any(axis=1)])

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")
