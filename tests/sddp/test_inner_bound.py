"""The inner bound: never below the optimum, never above by more and more, and the same bits however it is split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cobre.comm import LocalCommunicator, run
from cobre.core.config import Gap, IterationLimit, UpperBoundEvaluation
from cobre.core.horizon import RiskMeasure
from cobre.sddp.checkpointing import CheckpointPlan, newest_checkpoint
from cobre.sddp.slopes import Slopes, incoming_slopes
from cobre.sddp.training import train
from cobre.sddp.workspace import open_workspace
from sddp.cases import make_case
from sddp.graph_studies import climates, pinned, with_graph
from sddp.specs import UNIT_HOURS, BusSpec, HydroSpec, StageSpec, ThermalSpec
from sddp.studies import stages, study
from sddp.trained import bounds, digest, optimum, settings, trained, with_training

RISK = RiskMeasure(weight=0.5, tail=0.4)
LAGS = {"lags": [0.5], "residual_ratio": 0.8, "past": [18.0], "costs": {"negative_inflow": 40.0}}


def evaluated(case, every=10, iterations=30, **others):
    """``case`` with an inner bound every so many iterations."""
    wanted = UpperBoundEvaluation(every, every, **others)
    rules = settings(iterations).stopping_rules
    return with_training(case, replace(case.config.training, upper_bound=wanted, stopping_rules=rules))


CASES = {
    "expectation": evaluated(study()),
    "discounted CVaR": evaluated(study(stages(discount=0.95, risk=RISK))),
    "lags": evaluated(study(hydro=LAGS, non_negativity="penalty")),
    "climates": evaluated(
        with_graph(study([StageSpec((200.0, 100.0), 2)] * 4, training=settings(1, 3)), climates())
    ),
    "a tree and CVaR": evaluated(pinned(discount=0.95, risk=RISK)),
    "a slope from the user": evaluated(study(), fallback_value=3e5),
}


@pytest.fixture(scope="module")
def results():
    return {name: trained(case) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_lies_between_the_bounds(name, results):
    expected, result = optimum(CASES[name]), results[name]
    inner = result.convergence_history["inner_bound"].to_pylist()
    known = [value for value in inner if value is not None]
    assert [k + 1 for k, value in enumerate(inner) if value is not None] == [10, 20, 30]
    assert min(known) >= expected * (1 - 1e-9)
    assert max(bounds(result)) <= expected * (1 + 1e-9)
    assert result.inner_bound == known[-1]
    assert known[-1] <= expected * (1.02 if name == "lags" else 1.002)
    assert result.true_gap == pytest.approx((known[-1] - result.final_lower_bound) / result.final_lower_bound)


def test_without_it_there_is_no_inner_bound():
    result = trained(study(training=settings(3)))
    assert (result.inner_bound, result.true_gap) == (None, None)


def test_the_rule_gap_stops_by_the_inner_bound():
    case = evaluated(study(stages(risk=RISK)), every=5)
    rules = (IterationLimit(80), Gap(relative_tolerance=0.5))
    result = trained(with_training(case, replace(case.config.training, stopping_rules=rules)))
    assert result.termination_reason == "gap"
    assert result.iterations % 5 == 0
    assert result.true_gap <= 0.005


def digest_of(result):
    return digest(result), np.array(result.convergence_history["inner_bound"]).tobytes()


def _bits(comm):
    return digest_of(train(comm, evaluated(study(stages(risk=RISK)), 3, 6)))


def test_the_number_of_ranks_changes_no_bit():
    alone = digest_of(trained(evaluated(study(stages(risk=RISK)), 3, 6)))
    assert set(run(_bits, num_workers=3, backend="shm")) == {alone}


def test_a_run_that_is_continued_has_the_same_inner_bounds(tmp_path):
    whole = digest_of(trained(evaluated(study(), 3, 9)))
    trained(evaluated(study(), 3, 5), checkpoints=CheckpointPlan(tmp_path))
    again = trained(evaluated(study(), 3, 9), start=newest_checkpoint(tmp_path).state)
    assert digest_of(again) == whole


def test_a_missing_cubic_hectometre_costs_what_the_inflow_penalty_says():
    """One reservoir: 40 $ for 1 m3/s during an hour are 40 / 0.0036 $/hm3, more than the deficit it may cause."""
    prices = {"negative_inflow": 40.0, "spillage": 3.0}
    case = make_case(
        3,
        hours=UNIT_HOURS,
        buses=[BusSpec(load=5.0, deficit=[(None, 30.0)])],
        thermals=[ThermalSpec(max_mw=2.0, cost=10.0)],
        hydros=[HydroSpec(initial=5.0, inflow=2.0, inflow_std=1.0, costs=prices)],
        non_negativity="penalty",
    )
    with LocalCommunicator() as comm:
        problem = open_workspace(comm, case).problems[2]
    slopes = incoming_slopes(problem, Slopes(np.zeros(1), np.zeros(1)))
    assert slopes.less.tolist() == pytest.approx([40.0 / 0.0036])
    assert slopes.more.tolist() == pytest.approx([3.0 / 0.0036])  # one more only has to be spilled


def test_without_recourse_lags_stay_between_the_least_and_greatest_of_the_tree():
    case = evaluated(study(hydro={"lags": [0.5], "residual_ratio": 0.8, "past": [12.0]}))
    expected, result = optimum(case), trained(case)
    assert expected * (1 - 1e-9) <= result.inner_bound <= expected * 1.02
