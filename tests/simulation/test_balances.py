"""Every table of every random case balances: water, energy per bus, cost per stage and scenario."""

from __future__ import annotations

import pytest

import cobre
from files.generator import SEEDS, draw_flags, write_case
from files.rare_cases import RARE
from simulation.balances import assert_balanced

SHORT = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}


def simulated(folder, scenarios=6):
    case = cobre.load_case(folder, SHORT)
    return case, cobre.simulate(case, cobre.train(case).policy, scenarios=scenarios)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tables_of_a_random_case_balance(tmp_path, seed):
    write_case(tmp_path, seed, draw_flags(seed))
    assert_balanced(*simulated(tmp_path))


@pytest.mark.parametrize("name", RARE)
def test_the_tables_of_a_rare_case_balance(tmp_path, name):
    RARE[name].write(tmp_path)
    assert_balanced(*simulated(tmp_path))
