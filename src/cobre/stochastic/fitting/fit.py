"""Fits inflow models to a history: observations, statistics, orders, coefficients, noise, correlation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import SeasonDefinitions
from cobre.stochastic.fitting.autocorrelation import CentredSeries
from cobre.stochastic.fitting.calendar import levels_of
from cobre.stochastic.fitting.coefficients import fitted_coefficients, given_coefficients, settle
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import InflowHistory, Observations, observe
from cobre.stochastic.fitting.model import FitOptions, GivenModel, InflowFit, LevelFit
from cobre.stochastic.fitting.plausibility import check_repeats, check_shifts
from cobre.stochastic.fitting.profiles import correlation_profiles
from cobre.stochastic.fitting.quality import (
    check_bounds,
    check_counts,
    check_gaps,
    check_kinds,
    check_lengths,
    check_values,
)
from cobre.stochastic.fitting.residuals import residuals
from cobre.stochastic.fitting.statistics import season_statistics
from cobre.stochastic.fitting.units import check_records

__all__ = ["fit_inflows", "fit_observations"]


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
    findings = list(check_values(history))
    for each, _ in observed[:1]:
        long = list(check_lengths(history, each.level))
        findings += long
        findings += check_bounds(history, each.level)
        findings += check_records(history, each.level)
        findings += check_repeats(each, {finding.hydro for finding in long})
        findings += check_shifts(each)
    return fit_observations(observed, used_seasons, options, findings)


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
    # The deviations that the study uses: a closure over others would not keep them.
    mean, std = _filled(given.mean_m3s, statistics.mean_m3s), _filled(given.std_m3s, statistics.std_m3s)
    if given.coefficients is not None:
        model = given_coefficients(given.coefficients)
    else:
        model = fitted_coefficients(observations, statistics, series, options, findings)
    settled = settle(model, std, statistics, findings)
    model, ratio = settled.model, settled.closure.ratio
    if given.coefficients is not None:
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
        settled.closure.rho,
        settled.radius,
        left,
        np.divide(left, scale, out=np.where(np.isnan(left), np.nan, 0.0), where=scale > 0.0),
        model.reductions,
    )


def _filled(given: Floats | None, fitted: Floats) -> Floats:
    return fitted if given is None else np.where(np.isnan(given), fitted, given)
