"""The mean of many simulated scenarios against the exact optimum of the scenario tree."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.comm import LocalCommunicator
from cobre.sddp.simulation import simulate
from sddp.studies import study
from sddp.test_known_optima import reservoir
from sddp.trained import optimum, settings, trained
from simulation.hand_cases import opening_of

N = 5_000


def run(case, policy, n_scenarios=N):
    with LocalCommunicator() as comm:
        return simulate(comm, case, policy, n_scenarios)


def half_width(costs, deviations):
    return deviations * costs.std(ddof=1) / np.sqrt(len(costs))


@pytest.mark.parametrize(
    ("case", "n_scenarios"),
    [
        pytest.param(reservoir(iterations=30), N, id="one reservoir, 27 paths"),
        pytest.param(study(training=settings(60, 3)), 4000, id="two reservoirs, 81 paths"),
    ],
)
def test_the_mean_of_a_converged_policy_lies_within_its_interval_of_the_optimum(case, n_scenarios):
    """With probability 0.997: three deviations of the mean. The draws are hashes, so the outcome never changes."""
    result = trained(case)
    exact = optimum(case)
    assert result.final_lower_bound == pytest.approx(exact, rel=1e-9)
    outcome = run(case, result.policy, n_scenarios)
    assert abs(outcome.statistics.mean_cost - exact) <= half_width(outcome.costs, 3.0)
    assert outcome.statistics.ci_95 == pytest.approx(half_width(outcome.costs, 1.96), rel=1e-12)


def test_every_path_of_the_tree_weighted_by_its_chance_costs_the_optimum():
    """Exact, without chance: each of the 27 paths is met among the scenarios, and all are equally likely."""
    case = reservoir(iterations=30)
    outcome = run(case, trained(case).policy, 2000)
    paths = {}
    for scenario, cost in enumerate(outcome.costs.tolist()):
        paths[tuple(opening_of(scenario, stage, 3) for stage in range(3))] = cost
    assert len(paths) == 27
    assert sum(paths.values()) / 27 == pytest.approx(optimum(case), rel=1e-9)


@pytest.mark.parametrize("iterations", [1, 3, 60])
def test_no_policy_costs_less_than_the_lower_bound_but_by_chance(iterations):
    case = study(training=settings(iterations, 3))
    result = trained(case)
    outcome = run(case, result.policy, 2000)
    assert outcome.statistics.mean_cost >= result.final_lower_bound - half_width(outcome.costs, 3.0)
    assert outcome.statistics.mean_cost >= optimum(case) - half_width(outcome.costs, 3.0)


def test_a_better_policy_costs_less_on_the_same_scenarios():
    costs = []
    for iterations in (1, 60):
        case = study(training=settings(iterations, 1))
        costs.append(run(case, trained(case).policy, 500).statistics.mean_cost)
    assert costs[1] < costs[0] * 0.999
