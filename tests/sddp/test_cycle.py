"""Horizons without end: known optima, equations that the bound must meet, and the same bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cobre.comm import LocalCommunicator, run
from cobre.core.graph import Node, PolicyGraph
from cobre.core.horizon import RiskMeasure
from cobre.sddp.checkpointing import CheckpointPlan, newest_checkpoint
from cobre.sddp.itinerary import branch_draw, sampled_steps
from cobre.sddp.training import train
from sddp.cases import make_case
from sddp.specs import UNIT_HOURS, BusSpec, HydroSpec, StageSpec, ThermalSpec
from sddp.trained import bounds, digest, optimum, settings, trained, with_training


def cyclic(case, probability=1.0, first=0):
    """``case`` with its last stage leading back to stage ``first``."""
    n = case.horizon.n_stages
    chain = PolicyGraph.chain(n).nodes
    graph = PolicyGraph((*chain[:-1], Node(n - 1, n - 1, (first,), (probability,))))
    return replace(case, horizon=replace(case.horizon, graph=graph))


def one_reservoir(probability=0.9, discount=1.0, iterations=45, n_stages=1, risk=None):
    """5 <= v <= 15 from 10; (inflow, demand) is (0, 7.5), (5, 5) or (10, 2.5); spilling costs 10, burning 1."""
    openings = [[(z - 5.0) / 5.0, (d - 5.0) / 2.5] for z, d in ((0.0, 7.5), (5.0, 5.0), (10.0, 2.5))]
    case = make_case(
        [StageSpec(UNIT_HOURS, 3, discount, risk or RiskMeasure())] * n_stages,
        buses=[
            BusSpec(
                load=5.0, load_std=2.5, deficit=[(None, 1000.0 / UNIT_HOURS)], excess_cost=1000.0 / UNIT_HOURS
            )
        ],
        thermals=[ThermalSpec(max_mw=100.0, cost=1.0 / UNIT_HOURS)],
        hydros=[
            HydroSpec(
                initial=10.0,
                min_storage=5.0,
                max_storage=15.0,
                inflow=5.0,
                inflow_std=5.0,
                costs={"spillage": 10.0 / UNIT_HOURS},
            )
        ],
        given_openings=[openings] * n_stages,
        training=settings(iterations, 2),
    )
    return cyclic(case, probability)


def test_one_reservoir_that_loops_with_probability_nine_tenths():
    found = bounds(trained(one_reservoir()))
    assert found[-1] == pytest.approx(119.1666667, rel=1e-7)
    assert max(found) <= 119.1666667 * (1 + 1e-9)


def test_a_discount_of_nine_tenths_is_the_same_as_that_probability():
    assert trained(one_reservoir(1.0, 0.9)).final_lower_bound == pytest.approx(119.1666667, rel=1e-7)


def test_a_cycle_written_as_two_equal_stages_is_the_same_study():
    """Two rounds in one: the second stage leads back, both discount by 0.9."""
    found = trained(one_reservoir(1.0, 0.9, 60, n_stages=2)).final_lower_bound
    assert found == pytest.approx(119.1666667, rel=1e-6)


def test_sampled_paths_of_a_cycle_cost_what_the_study_costs():
    """Their mean is an unbiased estimate, with discounts and with an end by chance alike."""
    for case in (one_reservoir(0.9), one_reservoir(1.0, 0.9)):
        history = trained(with_training(case, settings(18, 20))).convergence_history
        costs = np.array(history["upper_bound"].to_pylist()[6:])
        assert costs.mean() == pytest.approx(119.1666667, abs=3.0 * costs.std() / np.sqrt(len(costs)))


def test_the_bound_is_that_of_a_long_chain():
    """Of 33 stages that discount by a half each, what follows does not count: one LP says what a cycle costs."""
    one = cyclic(small_chain(3, 60), 1.0)
    long = small_chain(33, 5)
    assert trained(one).final_lower_bound == pytest.approx(optimum(long), rel=1e-8)


def small_chain(n_stages, iterations):
    """Deterministic months of a reservoir whose inflow and load repeat every three stages."""
    of = [1.0, 6.0, 2.0]
    return make_case(
        [StageSpec(UNIT_HOURS, 1, 0.5)] * n_stages,
        buses=[BusSpec(load=[(6.0, 5.0, 9.0)[k % 3] for k in range(n_stages)], deficit=[(None, 900.0)])],
        thermals=[ThermalSpec(max_mw=4.0, cost=20.0)],
        hydros=[HydroSpec(initial=3.0, max_storage=8.0, inflow=[of[k % 3] for k in range(n_stages)])],
        training=settings(iterations, 1),
    )


def test_a_cycle_may_begin_after_the_first_stage():
    """A stage that comes once, then three that repeat."""
    chain = small_chain(4, 80)
    case = cyclic(chain, 1.0, first=1)
    n = 31
    long = small_chain(n, 5)
    bus, hydro = long.tables.bus, long.scenarios.inflow
    order = [0, *(1 + k % 3 for k in range(n - 1))]
    load = chain.tables.bus.load_mean_mw[:, order]
    means = dict(
        zip(chain.scenarios.inflow.stage_id.tolist(), chain.scenarios.inflow.mean_m3s.tolist(), strict=True)
    )
    inflow = np.array([means[order[int(t)]] for t in hydro.stage_id.tolist()])
    long = replace(
        long,
        tables=replace(long.tables, bus=replace(bus, load_mean_mw=load)),
        scenarios=replace(long.scenarios, inflow=replace(hydro, mean_m3s=inflow)),
    )
    assert trained(case).final_lower_bound == pytest.approx(optimum(long), rel=1e-7)


def test_risk_sees_the_end_as_an_outcome_without_cost():
    """With CVaR over everything that may follow, the end included, the bound is above the expected cost."""
    risky = trained(one_reservoir(0.9, risk=RiskMeasure(0.5, 0.5))).final_lower_bound
    assert risky > 119.2


@pytest.fixture(scope="module")
def alone():
    return digest(trained(bits_case()))


def bits_case(iterations=4):
    return with_training(one_reservoir(n_stages=2, probability=0.5), settings(iterations, 5))


def _digest(comm, threads=1):
    return digest(train(comm, bits_case(), threads=threads))


@pytest.mark.parametrize(("backend", "n_ranks"), [("shm", 2), ("tcp", 3)])
def test_any_backend_and_number_of_ranks(backend, n_ranks, alone):
    assert set(run(_digest, num_workers=n_ranks, backend=backend)) == {alone}


def test_any_number_of_threads(alone):
    assert digest(trained(bits_case(), threads=3)) == alone


def test_a_run_that_is_continued_has_the_bits_of_one_that_was_not(alone, tmp_path):
    trained(bits_case(2), checkpoints=CheckpointPlan(tmp_path))
    assert digest(trained(bits_case(), start=newest_checkpoint(tmp_path).state)) == alone


def test_lengths_of_paths_follow_the_probability_to_go_on():
    graph = one_reservoir().horizon.policy_graph
    with LocalCommunicator() as comm:
        steps = sampled_steps(graph, 0.9, 2000, 3, comm)
    assert len(steps[0]) == 2000
    assert len(steps[1]) / 2000 == pytest.approx(0.9, abs=0.03)
    assert sum(map(len, steps)) / 2000 == pytest.approx(10.0, rel=0.1)
    going_on = [path for path in range(2000) if branch_draw(3, path, 0) < 0.9]
    assert steps[1].paths.tolist() == going_on
