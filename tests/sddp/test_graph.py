"""Training on policy graphs: against the whole tree as one LP, and the same bits however the work is split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cobre.comm import run
from cobre.core.config import Gap, IterationLimit
from cobre.core.graph import Node, PolicyGraph
from cobre.core.horizon import RiskMeasure
from cobre.sddp.backward import Outcomes, joint_cuts
from cobre.sddp.checkpointing import CheckpointPlan, newest_checkpoint
from cobre.sddp.given_cuts import match_policy
from cobre.sddp.policy import Policy
from cobre.sddp.workspace import state_names_of
from sddp.cases import make_case
from sddp.graph_studies import (
    TREE,
    chain_nodes,
    climates,
    few,
    graph_cases,
    graph_digests,
    pinned,
    with_graph,
)
from sddp.specs import BusSpec, HydroSpec, StageSpec
from sddp.studies import stages, study
from sddp.trained import assert_optimal, bounds, digest, optimum, settings, trained, with_training

CASES = graph_cases()
SAMPLED = [name for name, case in CASES.items() if not case.config.training.is_enumerated]
ENUMERATED = [name for name in CASES if name not in SAMPLED]


@pytest.mark.parametrize("name", CASES)
def test_the_bound_reaches_the_optimum_of_the_graph_from_below(name):
    case = CASES[name]
    assert_optimal(bounds(trained(case)), optimum(case), rel=1e-4 if name == "a rare climate" else 1e-6)


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_upper_bound_of_an_enumerated_tree_is_exact(name):
    result = trained(CASES[name])
    history = result.convergence_history
    expected = optimum(CASES[name])
    assert result.final_upper_bound == pytest.approx(expected, rel=1e-9)
    assert min(history["upper_bound"].to_pylist()) >= expected * (1 - 1e-9)
    assert set(history["upper_bound_kind"].to_pylist()) == {"exact"}
    assert result.gap_estimate.status == "within"


def test_climates_change_the_optimum():
    assert optimum(CASES["climates"]) != pytest.approx(
        optimum(study([StageSpec((200.0, 100.0), 2)] * 4)), rel=1e-3
    )


@pytest.mark.parametrize("others", [{}, {"hydro": {"lags": [0.4], "past": [9.0]}}])
def test_a_chain_written_as_nodes_has_the_bits_of_the_chain(others):
    case = study(stages(discount=0.97, risk=RiskMeasure(0.5, 0.4)), training=settings(8, 3), **others)
    plain, nodes = trained(case), trained(with_graph(case, chain_nodes()))
    assert bounds(nodes) == bounds(plain)
    assert nodes.policy.stages == plain.policy.stages
    assert nodes.policy.node_ids == (0, 7, 14, 21)
    columns = ("upper_bound", "upper_bound_std", "cuts_active")
    assert nodes.convergence_history.select(columns).equals(plain.convergence_history.select(columns))


def test_an_enumerated_chain_is_a_single_trajectory():
    case = study([StageSpec((200.0, 100.0), 1)] * 4, training=settings(12))
    enumerated = with_training(case, replace(case.config.training, is_enumerated=True))
    assert bounds(trained(enumerated)) == bounds(trained(case))
    assert trained(enumerated).final_upper_bound == pytest.approx(trained(case).final_upper_bound, rel=1e-12)


@pytest.fixture(scope="module")
def alone():
    return {name: digest(trained(few(case))) for name, case in CASES.items()}


@pytest.mark.parametrize(("backend", "n_ranks"), [("shm", 2), ("tcp", 3), ("shm", 7)])
def test_any_backend_and_number_of_ranks(backend, n_ranks, alone):
    for found in run(graph_digests, num_workers=n_ranks, backend=backend):
        assert found == alone


def test_any_number_of_threads(alone):
    assert {name: digest(trained(few(case), threads=3)) for name, case in CASES.items()} == alone


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_continued_has_the_bits_of_one_that_was_not(name, alone, tmp_path):
    case = few(CASES[name])
    trained(few(CASES[name], 5), checkpoints=CheckpointPlan(tmp_path))
    assert digest(trained(case, start=newest_checkpoint(tmp_path).state)) == alone[name]


def _continued(comm, folder, name):
    from cobre.sddp.training import train

    return digest(train(comm, few(graph_cases()[name]), start=newest_checkpoint(folder).state))


@pytest.mark.parametrize("name", ["climates and lags", "a tree and CVaR"])
def test_another_number_of_ranks_continues_to_the_bit(name, alone, tmp_path):
    trained(few(CASES[name], 5), checkpoints=CheckpointPlan(tmp_path))
    found = run(_continued, num_workers=3, backend="shm", kwargs={"folder": tmp_path, "name": name})
    assert list(found) == [alone[name]] * 3


def test_every_node_of_an_enumerated_tree_is_solved_once_in_each_direction():
    result = trained(few(pinned(), 1))
    # Forward every node, backward every node but the root, and the root for the bound.
    assert result.logs[0].solves() == [2 * len(TREE)]


def test_the_rule_gap_stops_when_the_bounds_meet():
    case = pinned()
    rules = (IterationLimit(60), Gap(relative_tolerance=1e-6))
    result = trained(with_training(case, replace(case.config.training, stopping_rules=rules)))
    assert result.termination_reason == "gap"
    assert result.iterations < 60
    assert result.final_upper_bound - result.final_lower_bound <= 1e-8 * result.final_lower_bound
    money = (IterationLimit(60), Gap(tolerance=1e9))
    assert trained(with_training(case, replace(case.config.training, stopping_rules=money))).iterations == 1


def test_risk_sees_all_children_and_openings_at_once():
    """Two equal children with the costs 10, 20 and 30, 40: the dearer half costs 35; nested it would be another."""
    node = Node(0, 0, (1, 2), (0.5, 0.5))

    class Child:
        n_openings = 2
        probabilities = None
        shares = np.array([0.5, 0.5])

    nothing = np.zeros((1, 2, 0))
    parts = [
        (Child(), Outcomes(np.array([costs]), np.array([costs]), nothing))
        for costs in ([10.0, 20.0], [30.0, 40.0])
    ]
    assert joint_cuts(node, RiskMeasure(1.0, 0.5), np.zeros((1, 0)), parts).tolist() == [[35.0]]


def fan():
    """A reservoir that holds little before one of three months: 10, 60 or 110 m3/s."""
    inflows = {0: [60.0], 1: [10.0, 60.0, 110.0]}
    case = make_case(
        [StageSpec(744.0, 1), StageSpec(744.0, 3)],
        buses=[BusSpec(load=80.0, deficit=[(None, 500.0)])],
        hydros=[
            HydroSpec(
                initial=10.0,
                max_storage=10.0,
                max_turbined=100.0,
                productivity=0.95,
                inflow=[60.0, 60.0],
                inflow_std=[0.0, 50.0],
                costs={"spillage": 0.01},
            )
        ],
        given_openings=[[[0.0]], [[(value - 60.0) / 50.0] for value in inflows[1]]],
        training=settings(30, 2),
    )
    shares = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    leaves = [Node(k + 1, 1, (), (), None, shares[k]) for k in range(3)]
    return with_graph(case, [Node(0, 0, (1, 2, 3), (1 / 6, 2 / 6, 3 / 6)), *leaves])


def test_a_fan_of_unequal_leaves():
    assert trained(fan()).final_lower_bound == pytest.approx(14459578.8667, rel=1e-9)


def test_a_plant_that_makes_nothing_leaves_the_deficit():
    case = make_case(
        [StageSpec(744.0)] * 3,
        buses=[BusSpec(load=80.0, deficit=[(None, 500.0)])],
        hydros=[HydroSpec(productivity=0.0, inflow=10.0, max_storage=50.0)],
        training=settings(5, 2, is_enumerated=True),
    )
    nodes = [
        Node(0, 0, (1, 2), (0.3, 0.7)),
        Node(1, 1, (3,), (1.0,)),
        Node(2, 1, (4,), (1.0,)),
        Node(3, 2),
        Node(4, 2),
    ]
    result = trained(with_graph(case, nodes))
    assert result.final_lower_bound == pytest.approx(89_280_000.0, rel=1e-12)
    assert result.final_upper_bound == pytest.approx(89_280_000.0, rel=1e-12)


def test_leaves_share_a_pool_and_inner_nodes_have_one_each():
    graph = PolicyGraph(tuple(climates()))
    assert graph.pools == (0, 1, 2, 3, 4, 5, 5)
    policy = trained(few(CASES["climates"])).policy
    assert policy.node_ids == (10, 20, 21, 30, 31, 40)
    assert policy.summary()["cuts_per_stage"][-1] == 0
    assert policy.stage_of_node(31) == 4
    with pytest.raises(KeyError, match="no cuts of node 41"):
        policy.stage_of_node(41)
    table = policy.cuts()
    assert set(table["node_id"].to_pylist()) == {10, 20, 21, 30, 31}


def test_the_policy_of_a_graph_is_saved_and_read(tmp_path):
    policy = trained(few(CASES["climates"])).policy
    policy.save(tmp_path)
    assert Policy.load(tmp_path) == policy


def test_a_policy_of_the_same_graph_is_a_warm_start_and_no_other():
    case = few(CASES["climates"])
    names = state_names_of(case)
    policy = trained(case).policy
    matched = match_policy(policy, case, names)
    again = trained(case, first_cuts=matched.stages)
    assert again.final_lower_bound >= trained(case).final_lower_bound
    for other in (study(), with_graph(study(), chain_nodes())):
        with pytest.raises(Exception, match="the policy is about the nodes 10, 20, 21, 30, 31"):
            match_policy(policy, other, names)


def test_a_graph_has_the_digest_of_its_numbers():
    case = CASES["climates"]
    other = with_graph(study([StageSpec((200.0, 100.0), 2)] * 4, training=settings(60, 9)), climates(0.31))
    assert digest(trained(few(other))) != digest(trained(few(case)))
