from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from cobre.core.horizon import RiskMeasure
from cobre.errors import ValidationError
from cobre.sddp.risk import opening_weights, risk_of, weighted_sum

COSTS = np.array([[4.0, 1.0, 3.0, 2.0]])


def test_expectation_counts_every_opening_alike():
    assert opening_weights(COSTS, RiskMeasure()).tolist() == [[0.25] * 4]
    assert risk_of(COSTS[0], RiskMeasure()) == 2.5


def test_cvar_alone_is_the_mean_of_the_worst_half():
    measure = RiskMeasure(weight=1.0, tail=0.5)
    assert opening_weights(COSTS, measure).tolist() == [[0.5, 0.0, 0.5, 0.0]]
    assert risk_of(COSTS[0], measure) == 3.5


def test_a_mixture_is_part_expectation_and_part_cvar():
    measure = RiskMeasure(weight=0.4, tail=0.25)  # 0.6 / 4 for each, and 0.4 for the dearest
    assert opening_weights(COSTS, measure)[0] == pytest.approx([0.55, 0.15, 0.15, 0.15])
    assert risk_of(COSTS[0], measure) == pytest.approx(0.6 * 2.5 + 0.4 * 4.0)


def test_a_mixture_with_a_tail_of_half_the_openings():
    costs, measure = np.array([[10.0, 20.0, 30.0, 40.0]]), RiskMeasure(weight=0.5, tail=0.5)
    assert opening_weights(costs, measure).tolist() == [[0.125, 0.125, 0.375, 0.375]]
    assert risk_of(costs[0], measure) == 30.0
    assert risk_of(np.array([0.0, 100.0]), measure) == 75.0


def test_a_tail_between_openings_takes_part_of_one():
    measure = RiskMeasure(weight=1.0, tail=0.375)
    assert risk_of(COSTS[0], measure) == pytest.approx((0.25 * 4 + 0.125 * 3) / 0.375)


def test_a_tail_narrower_than_one_opening_is_the_worst_one():
    assert risk_of(COSTS[0], RiskMeasure(weight=1.0, tail=0.01)) == 4.0


def test_equally_dear_openings_are_filled_in_their_order():
    weights = opening_weights(np.array([[2.0, 2.0, 2.0]]), RiskMeasure(weight=1.0, tail=1 / 3))
    assert weights.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("is_equal", [True, False])
def test_weights_add_up_to_one_and_rows_are_independent(is_equal):
    rng = np.random.default_rng(1)
    costs = rng.normal(size=(7, 13))
    probabilities = None if is_equal else rng.dirichlet(np.ones(13))
    measure = RiskMeasure(weight=0.7, tail=0.3)
    weights = opening_weights(costs, measure, probabilities)
    assert weights.sum(axis=1) == pytest.approx(np.ones(7))
    for row in range(7):
        alone = opening_weights(costs[row : row + 1], measure, probabilities)
        assert weights[row].tobytes() == alone.tobytes()


def test_openings_of_unequal_probability_count_by_it():
    probabilities = np.array([0.5, 0.25, 0.125, 0.125])
    costs = np.array([[1.0, 2.0, 8.0, 4.0]])
    assert opening_weights(costs, RiskMeasure(), probabilities).tolist() == [probabilities.tolist()]
    measure = RiskMeasure(weight=0.5, tail=0.25)
    assert opening_weights(costs, measure, probabilities).tolist() == [[0.25, 0.125, 0.3125, 0.3125]]
    assert risk_of(costs[0], measure, probabilities) == 0.5 * 2.5 + 0.5 * 6.0


def test_sums_over_openings_do_not_depend_on_how_points_are_split():
    rng = np.random.default_rng(2)
    values, weights = rng.normal(size=(9, 101, 5)), rng.random(size=(9, 101))
    together = weighted_sum(values, weights)
    apart = np.concatenate([weighted_sum(values[a:b], weights[a:b]) for a, b in ((0, 4), (4, 5), (5, 9))])
    assert together.tobytes() == apart.tobytes()
    one_by_one = 0.0
    for opening in range(101):
        one_by_one += values[3, opening, 2] * weights[3, opening]
    assert together[3, 2] == one_by_one


@dataclass(frozen=True)
class Given:
    """A measure of a program that gives the same weights whatever the costs are."""

    weights: object
    is_expectation: bool = False

    def opening_weights(self, costs, probabilities):
        return self.weights


def test_weights_of_an_own_measure_may_be_of_any_kind_of_number():
    half = [[0.0, 0.0, 0.5, 0.5]]
    assert opening_weights(COSTS, Given(half)).tolist() == half
    assert opening_weights(COSTS, Given(np.array(half, dtype=">f4"))).dtype == np.float64
    assert risk_of(COSTS[0], Given(COSTS.max() == COSTS)) == 4.0


@pytest.mark.parametrize("weights", [np.ones(4), np.ones((1, 3)), np.ones((3, 4)), np.ones((1, 4, 1))])
def test_weights_of_an_own_measure_in_another_shape_are_refused(weights):
    costs = np.repeat(COSTS, 2, axis=0)
    with pytest.raises(ValidationError, match=r"Given gave weights of the shape .* not \(2, 4\)"):
        opening_weights(costs, Given(weights))
