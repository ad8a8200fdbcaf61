"""A cut for every outcome: the same optimum after fewer iterations, and policies that anyone can use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import cobre
from cobre.core.config import UpperBoundEvaluation
from cobre.core.horizon import RiskMeasure
from cobre.errors import ValidationError
from cobre.sddp.given_cuts import match_policy
from cobre.sddp.outcome_cuts import rows_of_future, rows_of_points
from cobre.sddp.policy import Policy
from cobre.sddp.workspace import state_names_of
from format_018.small import Case018
from sddp.specs import StageSpec
from sddp.studies import stages, study
from sddp.test_cycle import one_reservoir
from sddp.trained import assert_optimal, bounds, optimum, settings, trained, with_training

RISK = RiskMeasure(weight=0.5, tail=0.4)
LAGS = {"lags": [0.5], "residual_ratio": 0.8, "past": [18.0], "costs": {"negative_inflow": 30.0}}
MANY = [StageSpec((200.0, 100.0), n) for n in (1, 6, 6, 5)]


def multi(case, **others):
    return with_training(case, replace(case.config.training, is_multi_cut=True, **others))


CASES = {
    "expectation": study(MANY, training=settings(25, 4)),
    "discounted CVaR": study(stages(discount=0.95, risk=RISK), training=settings(25, 4)),
    "worst tail alone": study(stages(risk=RiskMeasure(1.0, 0.5)), training=settings(25, 4)),
    "lags": study(MANY, hydro=LAGS, non_negativity="penalty", training=settings(30, 5)),
    "clamped inflows": study(MANY, non_negativity="truncation", training=settings(25, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bound_reaches_the_optimum_from_below(name):
    case, expected = multi(CASES[name]), optimum(CASES[name])
    assert_optimal(bounds(trained(case)), expected)


def iterations_to(case, expected):
    return int(np.argmax(np.array(bounds(trained(case))) >= expected * (1 - 1e-6)))


def test_it_takes_fewer_iterations():
    case = study(MANY, hydro=LAGS, non_negativity="penalty", training=settings(120))
    expected = optimum(case)
    assert 0 < iterations_to(multi(case), expected) < iterations_to(case, expected)


def test_a_study_without_end():
    assert trained(multi(one_reservoir())).final_lower_bound == pytest.approx(119.1666667, rel=1e-7)


def test_the_policy_has_the_cuts_of_the_risk_alone(tmp_path):
    case = multi(CASES["expectation"])
    result = trained(case)
    assert result.policy.summary()["cuts_per_stage"] == [100, 100, 100, 0]
    assert result.total_cuts == 100 * (7 + 7 + 6)
    result.policy.save(tmp_path)
    assert Policy.load(tmp_path) == result.policy
    names = state_names_of(case)
    given = match_policy(result.policy, case, names).stages
    again = trained(multi(case, stopping_rules=settings(1).stopping_rules), first_cuts=given)
    assert again.final_lower_bound >= 0.99 * result.final_lower_bound
    assert again.policy.summary()["cuts_per_stage"] == [104, 104, 104, 0]


def test_the_inner_bound_is_that_of_vertices_alone():
    case = multi(CASES["discounted CVaR"], upper_bound=UpperBoundEvaluation(25, 25))
    result, expected = trained(case), optimum(case)
    assert expected * (1 - 1e-9) <= result.inner_bound <= expected * 1.01


def test_rows_of_cuts():
    points = np.arange(6.0).reshape(1, 3, 2)
    assert rows_of_points(points, 2).tolist() == [
        [0.0, 1.0, -1.0, 0.0, 0.0],
        [2.0, 3.0, 0.0, -1.0, 0.0],
        [4.0, 5.0, 0.0, 0.0, -1.0],
    ]
    assert rows_of_future(points[0, :1], 2).tolist() == [[0.0, 1.0, -1.0, 0.0, 0.0]]


def test_a_risk_measure_of_a_program_is_refused():
    @dataclass(frozen=True)
    class Own:
        is_expectation: bool = False

        def opening_weights(self, costs, probabilities):
            return np.repeat(probabilities[np.newaxis, :], len(costs), axis=0)

    case = multi(study([replace(each, risk=Own()) for each in MANY], training=settings(2)))
    with pytest.raises(ValidationError, match="cut_formulation"):
        trained(case)


def small(training) -> Case018:
    case = Case018([[744.0], [672.0]], [10.0])
    case.add_thermal(50.0, 8.0)
    case.add_hydro(10.0, 50.0, inflow=[2.0, 1.0])
    case.documents["config.json"]["training"].update(training, cut_formulation="multi")
    return case


@pytest.mark.parametrize(
    "selection",
    [{"selection": {"method": "level1"}}, {"max_active_per_stage": 9}],
    ids=["selection", "cap"],
)
def test_cut_selection_beside_it_is_refused(tmp_path, selection):
    folder = small({"cut_selection": selection}).write(tmp_path / "case")
    (error,) = cobre.validate(folder).errors
    assert (error.file, error.field) == ("config.json", "training.cut_selection")


def test_it_is_simulated_as_any_other_policy(tmp_path):
    folder = small({"cut_selection": {"selection": {"method": "dynamic"}}}).write(tmp_path / "case")
    result = cobre.train(folder)
    simulated = cobre.simulate(folder, result.policy, scenarios=3)
    assert simulated.mean_cost == pytest.approx(result.final_lower_bound, rel=1e-9)
