"""Coefficients of a level: orders chosen by partial autocorrelation or information, and lowered where they must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS, AnnualMeans, CentredSeries, annual_means
from cobre.stochastic.fitting.closure import Closure, close, effective_coefficients
from cobre.stochastic.fitting.equations import (
    Solutions,
    annual_solutions,
    classical_solutions,
    periodic_correlations,
)
from cobre.stochastic.fitting.findings import Finding
from cobre.stochastic.fitting.history import Observations
from cobre.stochastic.fitting.model import FitOptions, GivenCoefficients
from cobre.stochastic.fitting.orders import information_orders, significant_orders
from cobre.stochastic.fitting.reductions import Reduction, coefficients_of, reduce_orders
from cobre.stochastic.fitting.stationarity import spectral_radius, stationarity_problem
from cobre.stochastic.fitting.statistics import SeasonStatistics

__all__ = ["Coefficients", "Settled", "fitted_coefficients", "given_coefficients", "settle"]

ENOUGH = 30
"""With fewer observations of a season, lags that do not settle are of chance, whatever the river does."""
LASTING = 0.9
"""What is left of a disturbance after a year, by one lag alone: if this much, the level itself moves."""


@dataclass(frozen=True, eq=False)
class Choices:
    """What orders are chosen from: the equations' solutions, and the order under every ceiling."""

    solutions: Solutions
    selected: NDArray[np.int64]
    std: Floats
    max_magnitude: float | None

    def reduced(self) -> tuple[NDArray[np.int64], list[Reduction]]:
        """Orders (hydros, seasons), and what was lowered."""
        return reduce_orders(self.solutions, self.selected, self.std, self.max_magnitude)

    def below(self, hydro: int, ceiling: int) -> Choices:
        """The same for one hydro, and for no order above ``ceiling``."""
        one = slice(hydro, hydro + 1)
        solutions = Solutions(**{name: values[one] for name, values in vars(self.solutions).items()})
        under = np.minimum(np.arange(self.selected.shape[2]), ceiling)
        return Choices(solutions, self.selected[one][:, :, under], self.std[one], self.max_magnitude)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a level, as in `LevelFit`. ``choices``: None where the case gives them."""

    orders: NDArray[np.int64]
    phi: Floats
    psi: Floats
    annual_mean: Floats
    annual_std: Floats
    partial: Floats
    rho: Floats
    reductions: tuple[Reduction, ...] = ()
    choices: Choices | None = None


def given_coefficients(given: GivenCoefficients) -> Coefficients:
    """Those of the case."""
    shape, n_lags = given.phi.shape[:2], given.phi.shape[2]
    is_used = given.phi != 0.0
    orders = n_lags - np.argmax(is_used[:, :, ::-1], axis=2) if n_lags else np.zeros(shape, dtype=np.int64)
    return Coefficients(
        np.where(is_used.any(axis=2), orders, 0),
        given.phi,
        given.psi,
        given.annual_mean_m3s,
        given.annual_std_m3s,
        np.full((*shape, 0), np.nan),
        np.ones((*shape, 1)),
    )


def fitted_coefficients(
    observations: Observations,
    statistics: SeasonStatistics,
    series: CentredSeries,
    options: FitOptions,
    findings: list[Finding],
) -> Coefficients:
    """Those of the history; ``findings`` gets what an annual term lacks."""
    rho = periodic_correlations(series, options.max_order)
    annual = None
    if options.is_annual:
        findings += _annual_findings(observations)
        annual = annual_means(observations.series, observations.level.n_seasons)
    solutions = classical_solutions(rho) if annual is None else annual_solutions(rho, series, annual)
    selected = _selected(solutions, statistics, options)
    choices = Choices(solutions, selected, statistics.std_m3s, options.max_coefficient_magnitude)
    orders, events = choices.reduced()
    none = np.zeros_like(statistics.std_m3s)
    mean, std = (none, none) if annual is None else _of_season_before(annual)
    phi, psi = _at(solutions, orders)
    return Coefficients(orders, phi, psi, mean, std, solutions.partial, rho, tuple(events), choices)


def _at(solutions: Solutions, orders: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Coefficients of lags and of the annual mean (0 in a classical model) of these orders."""
    psi = np.take_along_axis(solutions.psi, orders[:, :, np.newaxis], axis=2)[:, :, 0]
    return coefficients_of(solutions, orders), psi


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


@dataclass(frozen=True, eq=False)
class Settled:
    """Coefficients, the correlations that they imply, and what a year multiplies a disturbance by."""

    model: Coefficients
    closure: Closure
    radius: Floats

    @classmethod
    def of(cls, model: Coefficients, std: Floats) -> Settled:
        """Whether or not the model settles, with the deviations (hydros, seasons) of the study."""
        effective = effective_coefficients(model.phi, model.psi, std, model.annual_std)
        return cls(model, close(effective), spectral_radius(effective))

    def problem(self, hydro: int) -> str | None:
        """Why the model of a hydro does not settle."""
        return stationarity_problem(self.closure, self.radius, hydro)


def settle(
    model: Coefficients, std: Floats, statistics: SeasonStatistics, findings: list[Finding]
) -> Settled:
    """The model with the most lags that settles.

    Lags beyond the first may fail to settle by chance even in a history of sixty years: the longest ones are given up.
    A history whose level moves, in which one lag alone keeps a disturbance for years, is refused unless it is short.
    """
    found = Settled.of(model, std)
    if model.choices is None:  # whether given ones settle is for the reader of their file to say
        return found
    orders, phi, psi = model.orders.copy(), model.phi.copy(), model.psi.copy()
    events = list(model.reductions)
    for h in range(len(orders)):
        problem = found.problem(h)
        if problem is None:
            continue
        counts = statistics.count[h][statistics.count[h] > 0]
        least = int(counts.min()) if len(counts) else 0
        if least >= ENOUGH and _is_moving(model, model.choices, std, h):
            findings.append(_refused(h, problem, float(found.radius[h])))
            continue
        mine, ceiling = _lowered(model, model.choices, std, h)
        orders[h], phi[h], psi[h] = mine.orders[0], mine.phi[0], mine.psi[0]
        events += [
            Reduction(h, s, int(order), int(orders[h, s]), (), "not_stationary")
            for s, order in enumerate(model.orders[h])
            if order != orders[h, s]
        ]
        findings.append(_given_up(h, problem, least, ceiling))
    if orders.tobytes() == model.orders.tobytes() and psi.tobytes() == model.psi.tobytes():
        return found
    return Settled.of(replace(model, orders=orders, phi=phi, psi=psi, reductions=tuple(events)), std)


def _is_moving(model: Coefficients, given: Choices, std: Floats, hydro: int) -> bool:
    """Whether one lag alone keeps nearly all of a disturbance for a year."""
    return bool(_under(model, given, std, hydro, 1).radius[0] > LASTING)


def _lowered(model: Coefficients, given: Choices, std: Floats, hydro: int) -> tuple[Coefficients, int]:
    """The model of one hydro under the highest ceiling under which it settles; at -1 without annual term, too."""
    for ceiling in range(max(int(model.orders[hydro].max()) - 1, 0), -1, -1):
        trial = _under(model, given, std, hydro, ceiling)
        if trial.problem(0) is None:
            return trial.model, ceiling
    last = trial.model
    return replace(last, orders=0 * last.orders, phi=0.0 * last.phi, psi=0.0 * last.psi), -1


def _under(model: Coefficients, given: Choices, std: Floats, hydro: int, ceiling: int) -> Settled:
    """The model of one hydro with no order above ``ceiling``."""
    one = slice(hydro, hydro + 1)
    choices = given.below(hydro, ceiling)
    orders, _ = choices.reduced()
    phi, psi = _at(choices.solutions, orders)
    return Settled.of(
        replace(model, orders=orders, phi=phi, psi=psi, annual_std=model.annual_std[one]), std[one]
    )


def _given_up(hydro: int, problem: str, least: int, ceiling: int) -> Finding:
    if ceiling > 0:
        kept = f"no more than {ceiling} lag{'s' * (ceiling > 1)} of a season {'are' if ceiling > 1 else 'is'} kept"
    else:
        kept = "it has no lags" + " and no annual term" * (ceiling < 0)
    return Finding(
        "warning",
        "CoverageMismatch",
        f"{least} observations of a season are too few for its lags: the autoregressive model is not stationary, "
        f"{problem}; {kept}",
        f"give a longer history; {ENOUGH} years are recommended"
        if least < ENOUGH
        else "check the history for missing periods and trends, give a longer one, or lower estimation.max_order",
        hydro,
        value=least,
    )


def _refused(hydro: int, problem: str, radius: float) -> Finding:
    return Finding(
        "error",
        "OutOfRange",
        f"the autoregressive model is not stationary: {problem}",
        "check the history for missing periods and trends, lower estimation.max_order, or set "
        "estimation.max_coefficient_magnitude",
        hydro,
        value=radius,
    )
