"""The stopping rule ``simulation``: when it looks, what it simulates, and when it ends training."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cobre
from cobre.core.config import IterationLimit, SimulationStopping
from cobre.study import metadata_of
from sddp.trained import with_training
from simulation.hand_cases import one_hydro

N = 40
RULE = SimulationStopping(
    replications=N, period=2, bound_window=1, distance_tolerance=1e-6, bound_tolerance=1e-6
)


def train(num_workers=1, **changes):
    case = one_hydro()
    rules = (replace(RULE, **changes), IterationLimit(30))
    return case, cobre.train(
        with_training(case, replace(case.config.training, stopping_rules=rules)), num_workers
    )


@pytest.fixture(scope="module")
def ended():
    return train()


def test_it_ends_training_when_two_simulations_in_a_row_agree(ended):
    _, result = ended
    assert result.termination_reason == "simulation"
    assert result.iterations % RULE.period == 0
    assert result.iterations >= 2 * RULE.period  # the first simulation has nothing to be compared with
    bounds = result.history["lower_bound"]
    assert abs(bounds[-1] - bounds[-2]) < RULE.bound_tolerance * bounds[-1]


def test_its_cost_is_that_of_simulating_the_policy(ended):
    case, result = ended
    simulated = cobre.simulate(case, result.policy, scenarios=N)
    assert result.simulated_cost.mean == pytest.approx(simulated.mean_cost, rel=1e-9)
    assert result.simulated_cost.std == pytest.approx(simulated.std_cost, rel=1e-9)
    assert metadata_of(result)["simulated_cost"]["ci_95"] == result.simulated_cost.ci_95


def test_two_ranks_come_to_the_same_end(ended):
    _, alone = ended
    _, together = train(num_workers=2)
    assert together.iterations == alone.iterations
    assert together.simulated_cost == alone.simulated_cost
    assert together.policy == alone.policy


@pytest.mark.parametrize(
    "changes",
    [{"bound_window": 30}, {"bound_tolerance": 0.0}, {"distance_tolerance": 0.0}],
    ids=["too few iterations", "a bound that is never stable", "simulations that never agree"],
)
def test_it_does_not_end_training_otherwise(changes):
    _, result = train(**changes)
    assert (result.termination_reason, result.iterations) == ("iteration_limit", 30)


def test_without_the_rule_nothing_is_simulated():
    result = cobre.train(one_hydro())
    assert result.simulated_cost is None
    assert metadata_of(result)["simulated_cost"] is None
