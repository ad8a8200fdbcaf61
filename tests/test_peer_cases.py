"""Public example cases, where they are at hand: their bounds are known."""

from __future__ import annotations

from itertools import pairwise

import pytest

import cobre
from cobre.comm import LocalCommunicator
from cobre.sddp.simulation import simulate
from peer_cases import CASES, FOLDER, WHERE
from simulation.balances import assert_balanced

pytestmark = pytest.mark.skipif(not CASES, reason=WHERE)

BOUNDS = {
    "d01-thermal-dispatch": (182500.0, 1e-6),
    "d02-single-hydro": (23635000 / 9, 1e-4),
    "d03-two-hydro-cascade": (4171000 / 3, 1e-4),
    "d04-transmission": (5263443883 / 657, 1e-4),
    "d05-fpha-constant-head": (23635000 / 9, 1e-4),
    "d06-fpha-variable-head": (732952154 / 225, 1e-4),
    "d09-multi-deficit": (80738000.0, 1e-6),
    "d14-block-factors": (176900.0, 1e-4),
    "d25-discount-rate": (2611454.584787283, 1e-4),
}
OPTIMUM_1DTOY = 2605944.586098845


def load(name):
    return cobre.load_case(FOLDER / name)


@pytest.mark.parametrize("name", BOUNDS)
def test_deterministic_cases_reach_their_cost_within_ten_iterations(name):
    expected, tolerance = BOUNDS[name]
    rules = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 10}]}}
    result = cobre.train(load(name), config_overrides=rules)
    assert result.final_lower_bound == pytest.approx(expected, abs=tolerance)
    assert abs(result.final_gap) < 1e-6


def test_lags_shift():
    assert cobre.train(load("d16-par1-lag-shift")).final_lower_bound == pytest.approx(7756250.0, abs=1.0)


def test_1dtoy_is_approached_from_below():
    found = cobre.train(load("1dtoy")).convergence_history["lower_bound"].to_pylist()
    assert max(found) <= OPTIMUM_1DTOY * (1 + 1e-6)
    assert found[-1] >= OPTIMUM_1DTOY * (1 - 1e-3)
    assert all(after >= before * (1 - 1e-9) for before, after in pairwise(found))


def test_the_optimum_of_1dtoy_lies_within_a_true_gap_below_a_tenth_of_a_percent():
    rules = {
        **short(200),
        "upper_bound_evaluation": {"enabled": True, "initial_iteration": 200, "interval_iterations": 200},
    }
    result = cobre.train(load("1dtoy"), config_overrides=rules)
    assert result.final_lower_bound <= OPTIMUM_1DTOY * (1 + 1e-6)
    assert result.inner_bound >= OPTIMUM_1DTOY * (1 - 1e-6)
    assert 0.0 <= result.true_gap < 0.001


def test_4ree_comes_near_its_bound():
    rules = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 20}]}}
    result = cobre.train(load("4ree"), config_overrides=rules)
    assert result.final_lower_bound == pytest.approx(6.0866e10, rel=2e-3)


def short(limit):
    return {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": limit}]}}


@pytest.mark.parametrize("name", [*BOUNDS, "d16-par1-lag-shift", "1dtoy", "4ree"])
def test_simulated_tables_balance(name):
    case = cobre.load_case(load(name).folder, short(3))
    assert_balanced(case, cobre.simulate(case, cobre.train(case).policy, scenarios=4))


@pytest.mark.parametrize("name", BOUNDS)
def test_every_simulated_scenario_of_a_deterministic_case_costs_its_bound(name):
    case = cobre.load_case(load(name).folder, short(10))
    result = cobre.simulate(case, cobre.train(case).policy, scenarios=5)
    expected, _ = BOUNDS[name]
    costs = result.scenario_summary["discounted_immediate_cost"].to_pylist()
    assert costs == pytest.approx([expected] * 5, rel=1e-9)


def test_dispatch_of_thermal_plants():
    """Load 20 MW for 730 h: 15 MW at 5 $/MWh and 5 MW at 10 $/MWh."""
    case = load("d01-thermal-dispatch")
    result = cobre.simulate(case, cobre.train(case).policy, scenarios=3)
    rows = result.thermals.to_pylist()
    assert {(row["thermal_id"], round(row["generation_mw"], 9)) for row in rows} == {(0, 15.0), (1, 5.0)}
    assert result.buses["spot_price"].to_pylist() == pytest.approx([10.0] * result.buses.num_rows)


def test_mean_of_many_scenarios_of_1dtoy_lies_within_its_interval_of_the_optimum():
    """Three deviations of the mean."""
    case = load("1dtoy")
    trained = cobre.train(case)
    with LocalCommunicator() as comm:
        found = simulate(comm, case, trained.policy, 20_000).statistics
    assert abs(found.mean_cost - OPTIMUM_1DTOY) <= 3.0 / 1.96 * found.ci_95
    assert found.mean_cost >= trained.final_lower_bound - 3.0 / 1.96 * found.ci_95
