"""Mixtures of all elements: a policy costs what the lower bound says, and its tables balance."""

from __future__ import annotations

import pytest

import cobre
from format_018.mixtures import made_certain, with_time
from format_018.random_cases import random_case
from matrices import IS_SOAK
from simulation.balances import assert_balanced, rows

CANALS_OUT = (93, 172)
"""Canals whose water leaves the system, as neither the plant that receives it nor one below is there yet."""
FILLED = 312
"""A plant with production planes that is filled: it generates nothing, and spills."""
SEEDS = (*range(200), FILLED) if IS_SOAK else (*range(10), *CANALS_OUT, FILLED)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cost_of_the_policy_is_its_lower_bound(tmp_path, seed):
    case = cobre.load_case(with_time(made_certain(random_case(seed)), seed).write(tmp_path / "case"))
    trained = cobre.train(case)
    simulated = cobre.simulate(case, trained.policy, scenarios=1)
    (summary,) = rows(simulated, "scenario_summary")
    assert summary["discounted_immediate_cost"] == pytest.approx(trained.final_lower_bound, rel=1e-6)
    assert_balanced(case, simulated)


def test_the_seeds_have_every_kind_of_time():
    cases = [with_time(random_case(seed), seed) for seed in SEEDS]
    stages = [stage for case in cases for stage in case.documents["stages.json"]["stages"]]
    rivers = [plant for case in cases for plant in case.documents["system/hydros.json"]["hydros"]]
    fuels = [plant for case in cases for plant in case.documents["system/thermals.json"]["thermals"]]
    assert sum(stage.get("block_mode") == "chronological" for stage in stages) >= 5
    assert sum("travel_time_hours" in plant for plant in rivers) >= 3
    assert sum("anticipated_config" in plant for plant in fuels) >= 5
