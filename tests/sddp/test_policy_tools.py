"""Policies compared, joined, cleared of useless cuts, and asked for water values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cobre
from cobre.errors import ValidationError
from cobre.sddp.policy import Policy
from cobre.sddp.stage_cuts import StageCuts
from sddp.studies import study
from sddp.trained import settings, trained, with_training

LOW, FLAT, STEEP = (1.0, 0.0, 0.0), (6.0, 0.0, -0.5), (10.0, -2.0, -1.0)
"""Intercept and two slopes."""
STATES = np.random.default_rng(2).uniform(0.0, 6.0, size=(40, 2))


def policy_of(*cuts, inactive=(), names=("storage:3", "inflow_lag1:3"), ends=("2030-02-01",), basis=b""):
    rows = np.array(cuts, dtype=np.float64).reshape(-1, 3)
    active = np.array([cut not in inactive for cut in cuts], dtype=bool)
    stage = StageCuts(rows[:, 0], rows[:, 1:], active, basis=np.frombuffer(basis, dtype=np.uint8))
    return Policy((stage,) * len(ends), 2, names, calendar=tuple(enumerate(ends)))


def costs(policy):
    return [policy.evaluate(0, state) for state in STATES]


@pytest.mark.parametrize("inactive", [(), (STEEP,)])
def test_a_merged_policy_is_the_higher_of_both_everywhere(inactive):
    """A cut that selection dropped in one of them and not in the other stays active."""
    mine, other = policy_of(LOW, STEEP, inactive=inactive), policy_of(STEEP, FLAT)
    expected = np.maximum(costs(mine), costs(other)).tolist()
    assert costs(mine.merge(other)) == costs(other.merge(mine)) == expected
    assert len(mine.merge(other).cuts(0)["intercepts"]) == 3


@pytest.mark.parametrize("verb", ["merge", "compare"])
def test_only_a_policy_is_merged_or_compared(verb):
    with pytest.raises(TypeError, match="'output/policy' is a str, not a policy\n  fix: read it with"):
        getattr(policy_of(LOW), verb)("output/policy")


def test_a_merged_policy_keeps_a_start_basis_only_where_its_cuts_are_as_they_were():
    mine = policy_of(LOW, STEEP, basis=b"12", inactive=(LOW,))
    assert mine.merge(policy_of(STEEP)) == mine
    assert not len(mine.merge(policy_of(FLAT)).stages[0].basis)
    assert not len(mine.merge(policy_of(LOW)).stages[0].basis)


def test_a_merged_policy_can_be_simulated_and_started_from():
    case = study(hydro={"lags": [0.4], "residual_ratio": 0.9, "past": [9.0]}, training=settings(3, 2))
    other_seed = replace(case.config.training, tree_seed=7)
    one, two = trained(case).policy, trained(with_training(case, other_seed)).policy
    joined = one.merge(two, allow_changes=True)
    state = [3.0] * one.state_dimension
    assert joined.evaluate(0, state) == max(one.evaluate(0, state), two.evaluate(0, state))
    assert cobre.simulate(case, joined, scenarios=3).scenarios == 3
    assert cobre.train(case, warm_start=joined).iterations == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ends": ("2031-02-01",)}, "stage 0 ends on 2030-02-01 and on 2031-02-01"),
        ({"ends": ("2030-02-01", "2030-03-01")}, "1 and 2 stages"),
        ({"names": ("storage:3", "storage:4")}, "first one has inflow_lag1:3; .* second one has storage:4"),
        ({"names": ("inflow_lag1:3", "storage:3")}, "come in another order"),
        ({"names": ()}, "only one of them names the components"),
    ],
)
@pytest.mark.parametrize("verb", ["merge", "compare"])
def test_policies_of_other_stages_or_plants_are_refused(change, words, verb):
    with pytest.raises(ValidationError, match=words):
        getattr(policy_of(STEEP), verb)(policy_of(STEEP, **change))


def test_policies_of_other_nodes_or_other_intervals_are_refused():
    mine = replace(policy_of(STEEP), node_ids=(1,), slots=({"storage:3": ("a", "b")},))
    with pytest.raises(
        ValidationError, match="the nodes 1 and 2 of a policy graph; .* other intervals of time"
    ):
        mine.merge(replace(mine, node_ids=(2,), slots=({"storage:3": ("a", "c")},)))


def test_policies_of_studies_that_differ_are_merged_only_if_told_and_then_both_are_named():
    same = {"solver": "a", "tables": "1", "tables.thermal.cost_per_mwh": "1", "tree_seed": "42"}
    mine = replace(policy_of(STEEP), identity=same)
    other = replace(policy_of(FLAT), identity={**same, "solver": "b"})
    assert mine.merge(other).identity == same
    changed = {**other.identity, "tables": "2", "tables.thermal.cost_per_mwh": "2", "tree_seed": "7"}
    other = replace(other, identity=changed)
    with pytest.raises(ValidationError, match=r"differ: thermal.cost_per_mwh; training.tree_seed 42 and 7"):
        mine.merge(other)
    joined = mine.merge(other, allow_changes=True)
    assert costs(joined) == costs(policy_of(STEEP, FLAT))
    assert joined.identity["tree_seed"] == "42 and 7"
    assert joined.identity["tables"] == "1 and 2"
    assert mine.compare(other).num_rows == 1


def test_a_policy_without_dates_is_matched_by_place():
    undated = replace(policy_of(FLAT), calendar=())
    assert costs(undated.merge(policy_of(STEEP))) == costs(policy_of(FLAT, STEEP))


def test_a_comparison_counts_active_cuts_and_shows_the_greatest_differences():
    mine, other = policy_of(LOW, STEEP, inactive=(LOW,)), policy_of(STEEP, FLAT)
    [row] = mine.compare(other, [[1.0, 1.0], [5.0, 0.0]]).to_pylist()
    assert row == {
        "stage": 0, "in_both": 1, "only_here": 0, "only_there": 1,
        "least_difference": -6.0, "greatest_difference": 0.0,
    }  # fmt: skip


def test_pruning_drops_cuts_that_are_nowhere_highest_and_keeps_the_future_cost():
    below = (STEEP[0] - 1.0, *STEEP[1:])
    policy = policy_of(below, FLAT, STEEP, LOW, inactive=(LOW,))
    smaller = policy.prune()
    assert smaller.cuts(0)["intercepts"].tolist() == [FLAT[0], STEEP[0]]
    assert costs(smaller) == costs(policy)
    assert policy.prune([[5.0, 0.0]]).cuts(0)["intercepts"].tolist() == [FLAT[0]]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (np.empty((0, 2)), "there is no state among the states"),
        ([[1.0, 2.0], [1.0, np.nan]], r"states\[1, 1\] is nan"),
    ],
)
def test_pruning_or_comparing_at_no_state_is_refused(states, words):
    policy = policy_of(STEEP, FLAT)
    with pytest.raises(ValueError, match=f"{words}.*\n  fix: "):
        policy.prune(states)
    with pytest.raises(ValueError, match=f"{words}.*\n  fix: "):
        policy.compare(policy, states)


def test_the_value_of_water_is_the_slope_of_the_highest_cut():
    policy = policy_of(FLAT, STEEP)
    assert policy.water_values(0, [1.0, 1.0]) == {3: 2.0}
    assert policy.water_values(0, [5.0, 0.0]) == {3: 0.0}
