"""Inflows: a periodic autoregression over lagged inflows, PAR(p) and PAR(p)-A.

For hydro h in stage t, with mean μ, standard deviation s, standardised coefficients φ*₁..φ*ₚ and the ratio r of
residual to total standard deviation::

    z = base + σ η + Σ ψₗ lagₗ        ψₗ = φ*ₗ s_t / s_{t-l}   (0 where s_{t-l} = 0)
                                      σ = s_t r                 (r = 1 without coefficients)
                                      base = μ_t - Σ ψₗ μ_{t-l}

The statistics of "t - l" are those of the stage id ``t - l`` if there is a row for it, before the study too.
Failing that, those of the first stage of the season that comes l before; failing that, zeros (in 0.5.1 those of another
season, see `cobre.core.case.Conventions`). Where a stage follows
stages of shorter seasons, a quarter after months, they are those of the quarter that comes l before.

PAR(p)-A adds the mean A of the last twelve inflows: ψ̂ = ψ* s_t / s_A, of which every lag 1..12 gets a twelfth.

A linear program does not take η but the *noise term* base + σ η: lags are state, and their part of the sum is in
its matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import PreStudyStage, SeasonDefinitions, Stage
from cobre.core.scenarios import AnnualComponent, InflowStatistics, LagCoefficients
from cobre.stochastic.inflow_rows import StatisticTable, annual_shares, standardised_coefficients

__all__ = ["InflowModel"]

_ANNUAL_LAGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class InflowModel:
    """The coefficients of every stage: ``psi`` (stages, lags, hydros), ``sigma`` and ``base`` (stages, hydros).

    Lags come before hydros everywhere, the most recent first, as in the state vector. The number of lags is the
    largest order of any hydro and stage; psi is 0 beyond an order.

    In the methods leading axes of ``lags`` (..., lags, hydros) and of ``eta`` (..., hydros) broadcast. Sums run in a
    fixed order, element by element: a row's result does not depend on the rows beside it.
    """

    psi: Floats
    sigma: Floats
    base: Floats

    @classmethod
    def build(
        cls,
        stages: Sequence[Stage],
        n_hydros: int,
        statistics: InflowStatistics,
        coefficients: LagCoefficients | None = None,
        annual: AnnualComponent | None = None,
        seasons: SeasonDefinitions | None = None,
        before: Sequence[PreStudyStage] = (),
        *,
        counts_seasons: bool = True,
    ) -> InflowModel:
        """The model of these rows. A hydro and stage without statistics has no inflow.

        ``seasons`` and the stages ``before`` the study tell which statistics belong to a lag; so does
        ``counts_seasons`` (`cobre.core.case.Conventions`).
        """
        table = StatisticTable.of(
            stages, n_hydros, statistics, seasons, before, counts_seasons=counts_seasons
        )
        phi, ratio = np.zeros((len(stages), 0, n_hydros)), np.ones((len(stages), n_hydros))
        if coefficients is not None:
            phi, ratio = standardised_coefficients(table, coefficients)
        shares = None if annual is None else annual_shares(table, annual)
        n_lags = max(phi.shape[1], 0 if shares is None else _ANNUAL_LAGS)
        psi = np.zeros((len(stages), n_lags, n_hydros))
        sigma, base = np.zeros_like(ratio), np.zeros_like(ratio)
        for t, stage in enumerate(stages):
            mean, std = table.of_stage(stage.id)
            sigma[t], base[t] = std * ratio[t], mean
            for lag in range(1, n_lags + 1):
                lag_mean, lag_std = table.at_lag(stage.id, lag)
                row = psi[t, lag - 1]
                if lag <= phi.shape[1]:
                    np.divide(phi[t, lag - 1] * std, lag_std, out=row, where=lag_std > 0.0)
                if shares is not None and lag <= _ANNUAL_LAGS:
                    row += shares[t] / _ANNUAL_LAGS
                base[t] -= row * lag_mean
        return cls(psi, sigma, base)

    @property
    def n_lags(self) -> int:
        return int(self.psi.shape[1])

    def lag_term(self, stage: int, lags: Floats) -> Floats:
        """Σ ψₗ lagₗ (..., hydros), summed from lag 1 up; components behind the lags are not looked at."""
        total: Floats = np.zeros(lags.shape[:-2] + lags.shape[-1:])
        product = np.empty_like(total)
        for lag in range(self.n_lags):
            total += np.multiply(self.psi[stage, lag], lags[..., lag, :], out=product)
        return total

    def noise_term(self, stage: int, eta: Floats) -> Floats:
        """Base + σ η."""
        term: Floats = self.sigma[stage] * eta
        term += self.base[stage]
        return term

    def inflow(self, stage: int, lags: Floats, eta: Floats) -> Floats:
        """The inflow in m³/s, of either sign."""
        term, lagged = self.noise_term(stage, eta), self.lag_term(stage, lags)
        return np.add(term, lagged, out=term if term.shape == lagged.shape else None)

    def truncated_noise_term(self, stage: int, lags: Floats, eta: Floats) -> Floats:
        """The noise term, raised where the inflow would be negative so that it is exactly 0.

        A hydro without noise (σ = 0) is left alone, negative or not.
        """
        term, lagged = self.noise_term(stage, eta), self.lag_term(stage, lags)
        return np.where((term + lagged < 0.0) & (self.sigma[stage] > 0.0), -lagged, term)

    def truncated_eta(self, stage: int, lags: Floats, eta: Floats) -> Floats:
        """η, raised where the inflow would be negative to the value that makes it 0, up to rounding."""
        lagged = self.lag_term(stage, lags)
        is_negative = (self.noise_term(stage, eta) + lagged < 0.0) & (self.sigma[stage] > 0.0)
        return np.where(is_negative, self._solve(stage, -lagged), eta)

    def residual(self, stage: int, lags: Floats, inflow_m3s: Floats) -> Floats:
        """The η that gives this inflow; 0 where σ = 0, as none can."""
        return self._solve(stage, inflow_m3s - self.lag_term(stage, lags))

    def _solve(self, stage: int, noise_term: Floats) -> Floats:
        sigma = np.broadcast_to(self.sigma[stage], noise_term.shape)
        difference = noise_term - self.base[stage]
        result: Floats = np.zeros_like(difference)
        np.divide(difference, sigma, out=result, where=sigma > 0.0)
        return result
