from __future__ import annotations

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.errors import ValidationError
from cobre.stochastic import LagTransition
from noise_recipe import months, stage

MONTHLY = SeasonDefinitions("monthly", tuple(Season(i, f"M{i}", i + 1) for i in range(12)))
WEEKLY = SeasonDefinitions("weekly", tuple(Season(i, f"W{i}", 1) for i in range(52)))
QUARTERLY = SeasonDefinitions(
    "custom", tuple(Season(i, f"Q{i}", 3 * i + 1, 1, 3 * i + 3, 31 if i in (0, 3) else 30) for i in range(4))
)


def _run(transition, inflows, start):
    """Components after each stage, for inflows (stages, hydros)."""
    components, seen = start, []
    for t, inflow in enumerate(inflows):
        components = transition.advance(t, components, inflow)
        seen.append(components)
    return np.array(seen)


@pytest.mark.parametrize("seasons", [None, MONTHLY], ids=["no calendar", "months"])
def test_whole_periods_shift_the_lags(seasons):
    transition = LagTransition.build(months(14), 3, seasons)
    assert transition.is_plain_shift
    assert transition.n_components == 3
    inflows = np.arange(14.0)[:, None] + np.array([[0.0, 100.0]])
    seen = _run(transition, inflows, transition.initial(np.array([[-1.0, -10.0], [-2.0, -20.0]])))
    assert seen[0].tolist() == [[0.0, 100.0], [-1.0, -10.0], [-2.0, -20.0]]
    assert seen[13].tolist() == [[13.0, 113.0], [12.0, 112.0], [11.0, 111.0]]


def test_a_shift_without_calendar_minds_no_season():
    stages = [stage(i, "2024-01-01", "2024-02-01", 0) for i in range(3)]
    assert LagTransition.build(stages, 2).is_plain_shift


def test_past_inflows_that_are_not_given_are_zero_and_superfluous_ones_ignored():
    transition = LagTransition.build(months(2), 2)
    assert transition.initial(np.array([[5.0]])).tolist() == [[5.0], [0.0]]
    assert transition.initial(np.array([[5.0], [6.0], [7.0]])).tolist() == [[5.0], [6.0]]
    assert transition.initial(np.zeros((0, 1))).tolist() == [[0.0], [0.0]]


def test_without_lags_there_is_nothing_to_move_whatever_the_calendar():
    odd = [stage(0, "2024-01-01", "2024-05-01", 7), stage(1, "2024-05-01", "2024-05-03", 3)]
    transition = LagTransition.build(odd, 0, MONTHLY)
    assert transition.is_plain_shift
    assert transition.advance(0, np.zeros((4, 0, 2)), np.ones((4, 2))).shape == (4, 0, 2)


def test_weeks_of_a_month_gather_its_mean_before_the_lags_shift():
    weeks = [
        stage(0, "2024-01-01", "2024-01-11", 0),
        stage(1, "2024-01-11", "2024-01-26", 0),
        stage(2, "2024-01-26", "2024-02-01", 0),
        stage(3, "2024-02-01", "2024-03-01", 1),
    ]
    transition = LagTransition.build(weeks, 2, MONTHLY)
    assert not transition.is_plain_shift
    assert transition.has_accumulator
    seen = _run(
        transition, np.array([[10.0], [20.0], [60.0], [7.0]]), transition.initial(np.array([[3.0], [4.0]]))
    )
    assert seen[0, :2, 0].tolist() == [3.0, 4.0]
    assert seen[1, :2, 0].tolist() == [3.0, 4.0]
    assert seen[2, :, 0] == pytest.approx([(10 * 10 + 15 * 20 + 6 * 60) / 31, 3.0, 0.0])
    assert seen[3, :, 0] == pytest.approx([7.0, (10 * 10 + 15 * 20 + 6 * 60) / 31, 0.0])


def test_days_that_reach_into_the_next_month_count_there():
    weeks = [
        stage(0, "2024-01-01", "2024-01-29", 0),
        stage(1, "2024-01-29", "2024-02-05", 0),
        stage(2, "2024-02-05", "2024-03-01", 1),
        stage(3, "2024-03-01", "2024-04-01", 2),
    ]
    transition = LagTransition.build(weeks, 1, MONTHLY)
    seen = _run(transition, np.array([[10.0], [24.0], [5.0], [9.0]]), transition.initial(np.array([[1.0]])))
    assert seen[1, :, 0] == pytest.approx([(28 * 10 + 3 * 24) / 31, 4 / 29 * 24])
    assert seen[2, :, 0] == pytest.approx([(4 * 24 + 25 * 5) / 29, 0.0])
    assert seen[3, :, 0] == pytest.approx([9.0, 0.0])


def test_a_week_at_the_turn_of_the_year_belongs_to_the_month_of_its_season():
    weeks = [
        stage(0, "2024-12-01", "2024-12-28", 11),
        stage(1, "2024-12-28", "2025-01-04", 0),
        stage(2, "2025-01-04", "2025-02-01", 0),
    ]
    transition = LagTransition.build(weeks, 1, MONTHLY)
    seen = _run(transition, np.array([[10.0], [20.0], [30.0]]), transition.initial(np.array([[1.0]])))
    assert seen[0, 0, 0] == 10.0
    assert seen[1, 0, 0] == 10.0
    assert seen[2, 0, 0] == pytest.approx((3 * 20 + 28 * 30) / 31)


def test_days_observed_before_the_study_count_in_the_first_mean():
    stages = [stage(0, "2024-01-11", "2024-02-01", 0), stage(1, "2024-02-01", "2024-03-01", 1)]
    transition = LagTransition.build(stages, 1, MONTHLY, observed_days=10)
    start = transition.initial(np.array([[1.0, 2.0]]), observed_m3s=np.array([31.0, 62.0]))
    assert start == pytest.approx(np.array([[1.0, 2.0], [10.0, 20.0]]))
    seen = _run(transition, np.array([[62.0, 31.0], [5.0, 6.0]]), start)
    assert seen[0, 0] == pytest.approx([10 + 42, 20 + 21])
    assert seen[1, 0] == pytest.approx([5.0, 6.0])
    assert LagTransition.build(stages, 1, MONTHLY).is_plain_shift, "unobserved days do not count"


@pytest.mark.parametrize("first", ["2024-12-02", "2024-12-07"], ids=["ISO weeks", "weeks from Saturday"])
def test_weeks_of_a_weekly_cycle_shift(first):
    days = np.datetime64(first) + 7 * np.arange(8)
    weeks = [stage(i, str(days[i]), str(days[i + 1]), min(48 + i, 51) if i < 4 else i - 4) for i in range(7)]
    assert LagTransition.build(weeks, 2, WEEKLY).is_plain_shift


def test_quarters_of_a_custom_cycle_shift_and_their_months_gather():
    starts = ["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01", "2025-01-01"]
    quarters = [stage(i, starts[i], starts[i + 1], i) for i in range(4)]
    assert LagTransition.build(quarters, 1, QUARTERLY).is_plain_shift
    by_month = [stage(s.id, str(s.start_date), str(s.end_date), s.id // 3) for s in months(12)]
    transition = LagTransition.build(by_month, 1, QUARTERLY)
    seen = _run(transition, np.arange(1.0, 13.0)[:, None], transition.initial(np.array([[50.0]])))
    assert seen[:3, 0, 0] == pytest.approx([50.0, 50.0, (31 * 1 + 29 * 2 + 31 * 3) / 91])
    assert seen[5, 0, 0] == pytest.approx((30 * 4 + 31 * 5 + 30 * 6) / 91)


def test_a_custom_season_over_the_turn_of_the_year_is_one_period():
    halves = SeasonDefinitions("custom", (Season(0, "wet", 11, 1, 4, 30), Season(1, "dry", 5, 1, 10, 31)))
    seasons = [0 if m in (10, 11, 0, 1, 2, 3) else 1 for m in range(12)]
    stages = [
        stage(s.id, str(s.start_date), str(s.end_date), seasons[s.start_date.month - 1])
        for s in months(12, first=10)
    ]
    transition = LagTransition.build(stages, 1, halves)
    closes = [t for t in range(12) if transition.weight[t, 0] > 0.0]
    assert closes == [5, 11]


def test_the_map_says_what_advance_does():
    weeks = [stage(i, f"2024-01-{1 + 7 * i:02}", f"2024-01-{8 + 7 * i:02}", 0) for i in range(4)]
    weeks += [stage(4, "2024-01-29", "2024-02-10", 0), stage(5, "2024-02-10", "2024-03-01", 1)]
    transition = LagTransition.build(weeks, 3, MONTHLY)
    generator = np.random.default_rng(0)
    for t in range(6):
        components, z = generator.normal(size=(5, 4, 2)), generator.normal(size=(5, 2))
        outgoing = transition.advance(t, components, z)
        for k in range(4):
            source, weight = transition.source[t, k], transition.weight[t, k]
            expected = (components[:, source] if source >= 0 else 0.0) + weight * z
            assert outgoing[:, k] == pytest.approx(expected, abs=0.0)


def test_the_weights_of_a_period_add_up_to_one():
    weeks = [stage(i, f"2024-01-{1 + 7 * i:02}", f"2024-01-{8 + 7 * i:02}", 0) for i in range(4)]
    weeks += [stage(4, "2024-01-29", "2024-02-05", 0), stage(5, "2024-02-05", "2024-03-01", 1)]
    transition = LagTransition.build(weeks, 1, MONTHLY)
    constant = _run(transition, np.full((6, 1), 17.0), transition.initial(np.array([[17.0]])))
    assert constant[:, 0, 0] == pytest.approx([17.0] * 6)


@pytest.mark.parametrize(
    ("stages", "seasons", "message"),
    [
        (
            [stage(0, "2024-03-01", "2024-04-01", 0)],
            MONTHLY,
            "season 0 .month 1., which its dates do not touch",
        ),
        ([stage(0, "2024-03-01", "2024-04-01", 12)], MONTHLY, "season 12, which is not defined"),
        (
            [stage(0, "2024-01-01", "2024-02-01", 0), stage(1, "2024-03-01", "2024-04-01", 2)],
            MONTHLY,
            "stage 1 .* follows a stage of January 2024, so that no stage stands for a month",
        ),
        (
            [stage(0, "2024-01-01", "2024-03-01", 0), stage(1, "2024-03-01", "2024-05-01", 2)],
            MONTHLY,
            "follows a stage of January 2024",
        ),
        ([stage(0, "2024-01-01", "2024-02-01")], QUARTERLY, "season None, which is not defined"),
        (
            [stage(0, "2024-01-01", "2024-02-01", 0), stage(1, "2024-02-01", "2024-05-01", 12)],
            SeasonDefinitions(
                "custom", (Season(0, "January", 1, 1, 1, 31), Season(12, "quarter", 2, 1, 4, 30))
            ),
            "a season of 89 days after one of 31 days",
        ),
    ],
)
def test_a_calendar_that_no_lag_can_follow_is_refused(stages, seasons, message):
    with pytest.raises(ValidationError, match=message) as caught:
        LagTransition.build(stages, 1, seasons)
    assert caught.value.kind == "IncompatibleSettings"
