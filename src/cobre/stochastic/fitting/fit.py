"""Fits inflow models to a history: observations, statistics, orders, coefficients, noise, correlation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import SeasonDefinitions
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS, AnnualMeans, CentredSeries, annual_means
from cobre.stochastic.fitting.calendar import levels_of
from cobre.stochastic.fitting.closure import Closure, close, effective_coefficients
from cobre.stochastic.fitting.equations import (
    Solutions,
    annual_solutions,
    classical_solutions,
    periodic_correlations,
)
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import InflowHistory, Observations, observe
from cobre.stochastic.fitting.model import (
    FitOptions,
    GivenCoefficients,
    GivenModel,
    InflowFit,
    LevelFit,
)
from cobre.stochastic.fitting.orders import information_orders, significant_orders
from cobre.stochastic.fitting.profiles import correlation_profiles
from cobre.stochastic.fitting.quality import check_counts, check_gaps, check_kinds, check_values
from cobre.stochastic.fitting.reductions import Reduction, coefficients_of, reduce_orders
from cobre.stochastic.fitting.residuals import residuals
from cobre.stochastic.fitting.stationarity import spectral_radius, stationarity_problem
from cobre.stochastic.fitting.statistics import SeasonStatistics, season_statistics

__all__ = ["fit_inflows", "fit_observations"]

Floats = NDArray[np.float64]


def fit_inflows(
    history: InflowHistory,
    seasons: SeasonDefinitions,
    used_seasons: Collection[int],
    options: FitOptions | None = None,
    given: Sequence[GivenModel] = (),
) -> InflowFit:
    """The inflow model of every level of ``seasons`` of which a season (by id) is used.

    ``given`` has, level by level as in `levels_of`, what the case gives itself. The fit says in its ``findings`` what
    is wrong with the history; with an error among them its numbers are not to be used.
    """
    levels = levels_of(seasons)
    models = list(given) or [GivenModel()] * len(levels)
    observed = [
        (observe(history, level), model)
        for level, model in zip(levels, models, strict=True)
        if set(level.season_ids) & set(used_seasons)
    ]
    return fit_observations(observed, used_seasons, options, check_values(history))


def fit_observations(
    observed: Sequence[tuple[Observations, GivenModel]],
    used_seasons: Collection[int],
    options: FitOptions | None = None,
    findings: Iterable[Finding] = (),
) -> InflowFit:
    """The same from observations, level by level; ``findings`` are those about the records they were made of."""
    options, found, fitted = options or FitOptions(), list(findings), []
    for observations, model in observed:
        ids = observations.level.season_ids
        used = [s for s, season in enumerate(ids) if season is not None and season in used_seasons]
        fitted.append(_fit_level(observations, used, options, model, found))
    profiles, of_season = correlation_profiles(fitted, found)
    return InflowFit(options, tuple(fitted), profiles, of_season, tuple(found))


def _fit_level(
    observations: Observations,
    used: Sequence[int],
    options: FitOptions,
    given: GivenModel,
    findings: list[Finding],
) -> LevelFit:
    statistics = season_statistics(observations.values)
    findings += check_gaps(observations)
    findings += check_counts(observations, statistics, used, options.min_observations)
    findings += check_kinds(observations, statistics, used)
    series = CentredSeries.of(observations.series, statistics.mean_m3s, statistics.std_m3s)
    if given.coefficients is not None:
        model = _given(given.coefficients)
    else:
        model = _coefficients(observations, statistics, series, options, findings)
    # The deviations that the study uses: a closure over others would not keep them.
    mean, std = _filled(given.mean_m3s, statistics.mean_m3s), _filled(given.std_m3s, statistics.std_m3s)
    effective = effective_coefficients(model.phi, model.psi, std, model.annual_std)
    closure, radius = close(effective), spectral_radius(effective)
    ratio = closure.ratio
    if given.coefficients is None:
        findings += _stationarity_findings(closure, radius)
    else:  # whether they settle is for the reader of their file to say
        ratio = np.where(np.isnan(given.coefficients.ratio), ratio, given.coefficients.ratio)
    left = residuals(series, model.phi, model.psi, model.annual_std)
    scale = np.tile(ratio, (1, observations.n_years))
    return LevelFit(
        observations,
        statistics,
        mean,
        std,
        model.orders,
        model.phi,
        model.psi,
        model.annual_mean,
        model.annual_std,
        ratio,
        model.partial,
        model.rho,
        closure.rho,
        radius,
        np.divide(left, scale, out=np.where(np.isnan(left), np.nan, 0.0), where=scale > 0.0),
        model.reductions,
    )


def _filled(given: Floats | None, fitted: Floats) -> Floats:
    return fitted if given is None else np.where(np.isnan(given), fitted, given)


@dataclass(frozen=True, eq=False)
class _Coefficients:
    orders: NDArray[np.int64]
    phi: Floats
    psi: Floats
    annual_mean: Floats
    annual_std: Floats
    partial: Floats
    rho: Floats
    reductions: tuple[Reduction, ...] = ()


def _given(given: GivenCoefficients) -> _Coefficients:
    shape, n_lags = given.phi.shape[:2], given.phi.shape[2]
    is_used = given.phi != 0.0
    orders = n_lags - np.argmax(is_used[:, :, ::-1], axis=2) if n_lags else np.zeros(shape, dtype=np.int64)
    return _Coefficients(
        np.where(is_used.any(axis=2), orders, 0),
        given.phi,
        given.psi,
        given.annual_mean_m3s,
        given.annual_std_m3s,
        np.full((*shape, 0), np.nan),
        np.ones((*shape, 1)),
    )


def _coefficients(
    observations: Observations,
    statistics: SeasonStatistics,
    series: CentredSeries,
    options: FitOptions,
    findings: list[Finding],
) -> _Coefficients:
    rho = periodic_correlations(series, options.max_order)
    none = np.zeros_like(statistics.std_m3s)
    if not options.is_annual:
        solutions = classical_solutions(rho)
        orders, events = _reduced(solutions, _selected(solutions, statistics, options), statistics, options)
        phi = coefficients_of(solutions, orders)
        return _Coefficients(orders, phi, none, none, none, solutions.partial, rho, tuple(events))
    findings += _annual_findings(observations)
    annual = annual_means(observations.series, observations.level.n_seasons)
    solutions = annual_solutions(rho, series, annual)
    orders, events = _reduced(solutions, _selected(solutions, statistics, options), statistics, options)
    psi = np.take_along_axis(solutions.psi, orders[:, :, np.newaxis], axis=2)[:, :, 0]
    mean, std = _of_season_before(annual)
    phi = coefficients_of(solutions, orders)
    return _Coefficients(orders, phi, psi, mean, std, solutions.partial, rho, tuple(events))


def _of_season_before(annual: AnnualMeans) -> tuple[Floats, Floats]:
    return np.roll(annual.mean_m3s, 1, axis=1), np.roll(annual.std_m3s, 1, axis=1)


def _selected(solutions: Solutions, statistics: SeasonStatistics, options: FitOptions) -> NDArray[np.int64]:
    """The order under every ceiling (hydros, seasons, P + 1); 0 where a season does not vary."""
    if options.order_selection in ("aic", "bic"):
        orders = information_orders(solutions.variance, statistics.count, options.order_selection)
    else:
        orders = significant_orders(solutions.partial, statistics.count, at_least_one=options.is_annual)
    is_solved = np.take_along_axis(solutions.is_solved, orders, axis=2)
    return np.where(is_solved & (statistics.std_m3s > 0.0)[:, :, np.newaxis], orders, 0)


def _reduced(
    solutions: Solutions, selected: NDArray[np.int64], statistics: SeasonStatistics, options: FitOptions
) -> tuple[NDArray[np.int64], list[Reduction]]:
    return reduce_orders(solutions, selected, statistics.std_m3s, options.max_coefficient_magnitude)


def _annual_findings(observations: Observations) -> Iterator[Finding]:
    if not observations.level.is_monthly:
        yield Finding(
            "error",
            "IncompatibleSettings",
            "order_selection = 'pacf_annual' needs twelve monthly seasons",
            "use pacf, or a monthly season calendar",
            field="estimation.order_selection",
            value="pacf_annual",
        )
    for h, series in enumerate(observations.series):
        count = int(np.count_nonzero(~np.isnan(series)))
        if 0 < count <= ANNUAL_SEASONS:
            yield Finding(
                "error",
                "CoverageMismatch",
                f"has {count} observations, but the mean of the year before needs {ANNUAL_SEASONS + 1}",
                "give a longer history, or use estimation.order_selection = 'pacf'",
                h,
                value=count,
            )


def _stationarity_findings(closure: Closure, radius: Floats) -> Iterator[Finding]:
    for h in range(len(radius)):
        problem = stationarity_problem(closure, radius, h)
        if problem is not None:
            yield Finding(
                "error",
                "OutOfRange",
                f"the autoregressive model is not stationary: {problem}",
                "lower estimation.max_order, set estimation.max_coefficient_magnitude, or give a longer history",
                h,
                value=float(radius[h]),
            )
