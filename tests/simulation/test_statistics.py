"""Statistics over scenarios, from costs and totals that are easy to follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cobre.sddp.simulation.statistics import quantile, simulation_statistics
from cobre.sddp.simulation.summary import TOTALS


def totals(n, **columns):
    found = np.zeros((n, len(TOTALS)))
    for name, values in columns.items():
        found[:, TOTALS.index(name)] = values
    return found


def test_one_scenario_has_no_deviation():
    found = simulation_statistics(np.array([7.0]), totals(1))
    assert (found.mean_cost, found.std_cost, found.ci_95) == (7.0, 0.0, 0.0)
    assert found.p5 == found.p50 == found.p95 == found.cvar_95 == found.min_cost == found.max_cost == 7.0


@pytest.mark.parametrize(
    ("n", "n_worst"),
    [(1, 1), (2, 1), (19, 1), (20, 1), (21, 2), (39, 2), (40, 2), (41, 3), (100, 5), (2000, 100)],
)
def test_cvar_is_the_mean_of_the_dearest_twentieth_rounded_up(n, n_worst):
    costs = np.random.default_rng(n).permutation(np.arange(1.0, n + 1.0))
    found = simulation_statistics(costs, totals(n))
    assert found.cvar_95 == pytest.approx(np.arange(n - n_worst + 1.0, n + 1.0).mean(), rel=1e-12)


def test_mean_deviation_and_interval():
    costs = np.array([4.0, 8.0, 6.0, 2.0])
    found = simulation_statistics(costs, totals(4))
    assert found.mean_cost == 5.0
    assert found.std_cost == pytest.approx(math.sqrt(20.0 / 3.0))
    assert found.ci_95 == pytest.approx(1.96 * math.sqrt(20.0 / 3.0) / 2.0)
    assert (found.min_cost, found.max_cost) == (2.0, 8.0)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_quantiles_lie_on_the_line_between_the_two_nearest(n, share):
    ordered = np.sort(np.random.default_rng(n).normal(size=n))
    assert quantile(ordered, share) == pytest.approx(np.quantile(ordered, share), rel=1e-12)


def test_a_deficit_counts_from_a_millionth_of_a_megawatt_on():
    n = 4
    found = simulation_statistics(
        np.ones(n), totals(n, max_deficit_mw=[0.0, 1e-6, 1.1e-6, 3.0], deficit_mwh=[0.0, 1.0, 1.0, 6.0])
    )
    assert found.deficit_frequency == 0.5
    assert found.total_deficit_mwh == 2.0


def test_a_category_is_counted_where_it_is_more_than_rounding():
    costs = np.array([1e6, 1e6, 1e6, 1e6])
    found = simulation_statistics(costs, totals(4, violation_cost=[0.0, 1e-4, 1.0, -2.0], resource_cost=5.0))
    assert found.categories["violation"].frequency == 0.5
    assert found.categories["violation"].max == 1.0
    assert found.categories["violation"].mean == pytest.approx((1e-4 - 1.0) / 4)
    assert found.categories["resource"].mean == 5.0
    assert found.categories["resource"].frequency == 1.0
    assert found.categories["imputed"].frequency == 0.0


def test_the_order_of_scenarios_decides_the_bits_of_the_mean_and_of_nothing_sorted():
    costs = np.random.default_rng(3).normal(1e6, 1e3, 101)
    one, other = (simulation_statistics(each, totals(101)) for each in (costs, costs[::-1].copy()))
    assert one.mean_cost == pytest.approx(other.mean_cost, rel=1e-14)
    assert (one.p5, one.p50, one.p95, one.cvar_95) == (other.p5, other.p50, other.p95, other.cvar_95)


def test_plain_data_for_json():
    found = simulation_statistics(np.array([1.0, 2.0]), totals(2)).to_dict()
    assert found["n_scenarios"] == 2
    assert found["categories"]["recourse"] == {"mean": 0.0, "max": 0.0, "frequency": 0.0}
