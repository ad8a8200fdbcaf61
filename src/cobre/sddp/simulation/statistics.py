"""What all simulated scenarios together say."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cobre.arrays import Floats
from cobre.core.horizon import RiskMeasure
from cobre.core.simulation_tables import COST_CATEGORIES
from cobre.core.sums import sum_in_order
from cobre.sddp.risk import risk_of
from cobre.sddp.simulation.summary import END_COST, TOTALS
from cobre.sddp.statistics import statistics_of

TAIL = 0.95
"""CVaR is the mean of the scenarios beyond this quantile."""
NEGLIGIBLE = 1e-9
"""A cost below this share of its scenario's cost is rounding."""
DEFICIT_MW = 1e-6
"""A smaller deficit is rounding."""


@dataclass(frozen=True, slots=True)
class CategoryStatistics:
    """One kind of cost, summed over the stages of a scenario without discounting."""

    mean: float
    max: float
    frequency: float
    """Share of scenarios in which there is any."""


@dataclass(frozen=True)
class SimulationStatistics:
    """Costs are discounted to the first stage; energies and volumes are means over scenarios of whole horizons."""

    n_scenarios: int
    mean_cost: float
    std_cost: float
    ci_95: float
    """Half-width of the 95 % interval of the mean."""
    min_cost: float
    max_cost: float
    p5: float
    p50: float
    p95: float
    cvar_95: float
    """Mean of the dearest twentieth of the scenarios."""
    deficit_frequency: float
    """Share of scenarios with a deficit in any stage."""
    total_deficit_mwh: float
    total_spillage_mwh: float
    total_spillage_hm3: float
    total_curtailment_mwh: float
    mean_end_cost: float
    """The part of ``mean_cost`` that follows the last stage, by the policy of another study that this one ends in."""
    categories: dict[str, CategoryStatistics]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def simulation_statistics(
    costs: Floats, totals: Floats, probabilities: Floats | None = None
) -> SimulationStatistics:
    """From all scenarios in order: ``costs [scenario]`` and ``totals [scenario, value]`` (`TOTALS`).

    With ``probabilities`` the scenarios are all there are: deviations are those of the population, and the mean has no
    interval.
    """
    if probabilities is not None:
        return _census(costs, totals, probabilities)
    of_costs = statistics_of(costs)
    ordered = np.sort(costs)
    n = len(costs)
    n_worst = max(1, n - math.floor(TAIL * n))

    def total(name: str) -> Floats:
        return totals[:, TOTALS.index(name)]

    def mean(name: str) -> float:
        return statistics_of(total(name)).mean

    deficits = total("max_deficit_mw") > DEFICIT_MW
    return SimulationStatistics(
        n_scenarios=n,
        mean_cost=of_costs.mean,
        std_cost=of_costs.std,
        ci_95=of_costs.ci_95,
        min_cost=float(ordered[0]),
        max_cost=float(ordered[-1]),
        p5=quantile(ordered, 0.05),
        p50=quantile(ordered, 0.5),
        p95=quantile(ordered, 0.95),
        cvar_95=statistics_of(ordered[n - n_worst :]).mean,
        deficit_frequency=float(np.count_nonzero(deficits)) / n,
        total_deficit_mwh=mean("deficit_mwh"),
        total_spillage_mwh=mean("spillage_mwh"),
        total_spillage_hm3=mean("spillage_hm3"),
        total_curtailment_mwh=mean("curtailment_mwh"),
        mean_end_cost=mean(END_COST),
        categories={kind: _category(total(f"{kind}_cost"), costs) for kind in COST_CATEGORIES},
    )


def _census(costs: Floats, totals: Floats, probabilities: Floats) -> SimulationStatistics:
    def mean_of(values: Floats) -> float:
        return sum_in_order((probabilities * values).tolist())

    def total(name: str) -> Floats:
        return totals[:, TOTALS.index(name)]

    order = np.argsort(costs, kind="stable")
    ordered, reached = costs[order], np.add.accumulate(probabilities[order])

    def quantile_of(share: float) -> float:
        return float(ordered[min(int(np.searchsorted(reached, share)), len(ordered) - 1)])

    mean = mean_of(costs)
    categories = {}
    for kind in COST_CATEGORIES:
        of_kind = total(f"{kind}_cost")
        counts = np.abs(of_kind) > NEGLIGIBLE * np.maximum(1.0, np.abs(costs))
        frequency = mean_of(counts.astype(np.float64))
        categories[kind] = CategoryStatistics(mean_of(of_kind), float(of_kind.max()), frequency)
    return SimulationStatistics(
        n_scenarios=len(costs),
        mean_cost=mean,
        std_cost=math.sqrt(mean_of((costs - mean) ** 2)),
        ci_95=0.0,
        min_cost=float(ordered[0]),
        max_cost=float(ordered[-1]),
        p5=quantile_of(0.05),
        p50=quantile_of(0.5),
        p95=quantile_of(0.95),
        cvar_95=risk_of(costs, RiskMeasure(1.0, 1.0 - TAIL), probabilities),
        deficit_frequency=mean_of((total("max_deficit_mw") > DEFICIT_MW).astype(np.float64)),
        total_deficit_mwh=mean_of(total("deficit_mwh")),
        total_spillage_mwh=mean_of(total("spillage_mwh")),
        total_spillage_hm3=mean_of(total("spillage_hm3")),
        total_curtailment_mwh=mean_of(total("curtailment_mwh")),
        mean_end_cost=mean_of(total(END_COST)),
        categories=categories,
    )


def quantile(ordered: Floats, share: float) -> float:
    """Of sorted values, linear between the two nearest."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def _category(costs: Floats, of_scenarios: Floats) -> CategoryStatistics:
    counts = np.abs(costs) > NEGLIGIBLE * np.maximum(1.0, np.abs(of_scenarios))
    return CategoryStatistics(
        statistics_of(costs).mean, float(costs.max()), float(np.count_nonzero(counts)) / len(costs)
    )
