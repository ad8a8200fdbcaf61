"""What all simulated scenarios together say."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.core.simulation_tables import COST_CATEGORIES
from cobre.sddp.simulation.summary import TOTALS
from cobre.sddp.statistics import statistics_of

Floats = NDArray[np.float64]

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
    categories: dict[str, CategoryStatistics]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def simulation_statistics(costs: Floats, totals: Floats) -> SimulationStatistics:
    """From all scenarios in order: ``costs [scenario]`` and ``totals [scenario, value]`` (`TOTALS`)."""
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
        categories={kind: _category(total(f"{kind}_cost"), costs) for kind in COST_CATEGORIES},
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
