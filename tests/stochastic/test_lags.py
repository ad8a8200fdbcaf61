from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from cobre.core.horizon import Season, SeasonDefinitions
from cobre.core.scenarios import InflowObservation
from cobre.errors import ValidationError
from cobre.stochastic import LagTransition, PastRecord
from noise_recipe import consecutive_stages, months, stage

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
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[-1.0, -10.0], [-2.0, -20.0]]))))
    assert seen[0].tolist() == [[0.0, 100.0], [-1.0, -10.0], [-2.0, -20.0]]
    assert seen[13].tolist() == [[13.0, 113.0], [12.0, 112.0], [11.0, 111.0]]


def test_a_shift_without_calendar_minds_no_season():
    stages = [stage(i, "2024-01-01", "2024-02-01", 0) for i in range(3)]
    assert LagTransition.build(stages, 2).is_plain_shift


def test_past_inflows_that_are_not_given_are_zero_and_superfluous_ones_ignored():
    transition = LagTransition.build(months(2), 2)
    assert transition.initial(PastRecord(np.array([[5.0]]))).tolist() == [[5.0], [0.0]]
    assert transition.initial(PastRecord(np.array([[5.0], [6.0], [7.0]]))).tolist() == [[5.0], [6.0]]
    assert transition.initial(PastRecord(np.zeros((0, 1)))).tolist() == [[0.0], [0.0]]


def test_without_lags_there_is_nothing_to_move_whatever_the_calendar():
    odd = consecutive_stages("2024-01-01 2024-05-01 2024-05-03", [7, 3])
    transition = LagTransition.build(odd, 0, MONTHLY)
    assert transition.is_plain_shift
    assert transition.advance(0, np.zeros((4, 0, 2)), np.ones((4, 2))).shape == (4, 0, 2)


def test_weeks_of_a_month_gather_its_mean_before_the_lags_shift():
    weeks = consecutive_stages("2024-01-01 2024-01-11 2024-01-26 2024-02-01 2024-03-01", [0, 0, 0, 1])
    transition = LagTransition.build(weeks, 2, MONTHLY)
    assert not transition.is_plain_shift
    assert transition.names == ("inflow_lag1", "inflow_lag2", "inflow_so_far")
    seen = _run(
        transition,
        np.array([[10.0], [20.0], [60.0], [7.0]]),
        transition.initial(PastRecord(np.array([[3.0], [4.0]]))),
    )
    assert seen[0, :2, 0].tolist() == [3.0, 4.0]
    assert seen[1, :2, 0].tolist() == [3.0, 4.0]
    assert seen[2, :, 0] == pytest.approx([(10 * 10 + 15 * 20 + 6 * 60) / 31, 3.0, 0.0])
    assert seen[3, :, 0] == pytest.approx([7.0, (10 * 10 + 15 * 20 + 6 * 60) / 31, 0.0])


def test_days_that_reach_into_the_next_month_count_there():
    weeks = consecutive_stages("2024-01-01 2024-01-29 2024-02-05 2024-03-01 2024-04-01", [0, 0, 1, 2])
    transition = LagTransition.build(weeks, 1, MONTHLY)
    seen = _run(
        transition,
        np.array([[10.0], [24.0], [5.0], [9.0]]),
        transition.initial(PastRecord(np.array([[1.0]]))),
    )
    assert seen[1, :, 0] == pytest.approx([(28 * 10 + 3 * 24) / 31, 4 / 29 * 24])
    assert seen[2, :, 0] == pytest.approx([(4 * 24 + 25 * 5) / 29, 0.0])
    assert seen[3, :, 0] == pytest.approx([9.0, 0.0])


def test_a_week_at_the_turn_of_the_year_belongs_to_the_month_of_its_season():
    weeks = consecutive_stages("2024-12-01 2024-12-28 2025-01-04 2025-02-01", [11, 0, 0])
    transition = LagTransition.build(weeks, 1, MONTHLY)
    seen = _run(
        transition, np.array([[10.0], [20.0], [30.0]]), transition.initial(PastRecord(np.array([[1.0]])))
    )
    assert seen[0, 0, 0] == 10.0
    assert seen[1, 0, 0] == 10.0
    assert seen[2, 0, 0] == pytest.approx((3 * 20 + 28 * 30) / 31)


def observed(*rows):
    """Rows of hydro, first day, day after the last one, and inflow."""
    return tuple(
        InflowObservation(hydro, dt.date.fromisoformat(start), dt.date.fromisoformat(end), value)
        for hydro, start, end, value in rows
    )


def test_days_observed_before_the_study_count_in_the_first_mean():
    stages = consecutive_stages("2024-01-11 2024-02-01 2024-03-01", [0, 1])
    days = observed((0, "2024-01-01", "2024-01-11", 31.0), (1, "2024-01-01", "2024-01-11", 62.0))
    past = PastRecord(np.array([[1.0, 2.0]]), days)
    transition = LagTransition.build(stages, 1, MONTHLY, past=past)
    start = transition.initial(past)
    assert start == pytest.approx(np.array([[1.0, 2.0], [10.0, 20.0]]))
    seen = _run(transition, np.array([[62.0, 31.0], [5.0, 6.0]]), start)
    assert seen[0, 0] == pytest.approx([10 + 42, 20 + 21])
    assert seen[1, 0] == pytest.approx([5.0, 6.0])
    assert LagTransition.build(stages, 1, MONTHLY).is_plain_shift, "unobserved days do not count"


def test_a_third_of_april_observed_before_the_study_weighs_a_third():
    stages = [stage(0, "2026-04-11", "2026-05-01", 3), *months(2, first=4, year=2026)]
    past = PastRecord(np.array([[100.0], [200.0], [300.0]]), observed((0, "2026-04-01", "2026-04-11", 500.0)))
    transition = LagTransition.build(stages, 3, MONTHLY, past=past)
    assert transition.initial(past)[:, 0].tolist() == [100.0, 200.0, 300.0, pytest.approx(500 / 3)]
    assert transition.weight[0, 0] == pytest.approx(2 / 3)


def test_an_observed_week_and_the_weeks_of_the_study_make_the_mean_of_april():
    weeks = consecutive_stages(
        "2026-04-04 2026-04-11 2026-04-18 2026-04-25 2026-05-02 2026-06-01", [3, 3, 3, 3, 4]
    )
    past = PastRecord(np.array([[90.0]]), observed((0, "2026-03-28", "2026-04-04", 220.0)))
    transition = LagTransition.build(weeks, 1, MONTHLY, past=past)
    seen = _run(transition, np.array([[400.0], [420.0], [440.0], [460.0], [0.0]]), transition.initial(past))
    assert seen[2, 0, 0] == 90.0
    assert seen[3, 0, 0] == pytest.approx((660 + 2800 + 2940 + 3080 + 2760) / 30)


def test_weeks_weigh_by_their_days_in_the_month_and_the_last_one_spills():
    days = "2026-03-28 2026-04-04 2026-04-11 2026-04-18 2026-04-25 2026-05-02 2026-06-01"
    weeks = consecutive_stages(days, [3] * 5 + [4])
    transition = LagTransition.build(weeks, 1, MONTHLY)
    assert transition.weight[:4, 1] == pytest.approx([3 / 30, 7 / 30, 7 / 30, 7 / 30])
    assert transition.weight[4] == pytest.approx([6 / 30, 1 / 31])
    assert transition.weight[5, 0] == pytest.approx(30 / 31)
    assert [bool(transition.weight[t, 0]) for t in range(6)] == [False] * 4 + [True] * 2


def test_a_week_across_the_end_of_january_weighs_4_of_31_and_3_of_28_days():
    weeks = consecutive_stages("2026-01-01 2026-01-28 2026-02-04 2026-03-01", [0, 0, 1])
    assert LagTransition.build(weeks, 1, MONTHLY).weight[1] == pytest.approx([4 / 31, 3 / 28])


def test_a_day_that_two_stages_have_counts_for_the_later_one():
    """Weeks of April up to 9 May, the last one without a day of April, and then all of May."""
    days = "2026-04-04 2026-04-11 2026-04-18 2026-04-25 2026-05-02 2026-05-09"
    weeks = consecutive_stages(days, [3] * 5)
    weeks.append(stage(5, "2026-05-01", "2026-06-01", 4))
    transition = LagTransition.build(weeks, 1, MONTHLY)
    inflows = np.array([[10.0], [20.0], [30.0], [40.0], [999.0], [7.0]])
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[3.0]]))))
    assert seen[:4, 0, 0].tolist() == [3.0] * 4
    assert seen[4, 0, 0] == pytest.approx((7 * 10 + 7 * 20 + 7 * 30 + 6 * 40) / 27)
    assert seen[5, 0, 0] == 7.0


def test_hydros_may_be_observed_on_different_days_before_the_study():
    """The mean of January is that of the days that are known: all 31, the last 21, or 26 of them."""
    stages = consecutive_stages("2024-01-11 2024-01-21 2024-02-01 2024-03-01", [0, 0, 1])
    days = observed((0, "2024-01-01", "2024-01-11", 31.0), (2, "2024-01-01", "2024-01-06", 50.0))
    past = PastRecord(np.array([[1.0, 2.0, 3.0]]), days)
    transition = LagTransition.build(stages, 1, MONTHLY, past=past)
    assert transition.weight.shape == (3, 2, 3)
    seen = _run(transition, np.array([[6.0] * 3, [7.0] * 3, [8.0] * 3]), transition.initial(past))
    assert seen[0, 0].tolist() == [1.0, 2.0, 3.0]
    study = 10 * 6.0 + 11 * 7.0
    assert seen[1, 0] == pytest.approx([(10 * 31.0 + study) / 31, study / 21, (5 * 50.0 + study) / 26])
    assert seen[2, 0].tolist() == [8.0] * 3
    psi = np.zeros((3, 1, 3))
    psi[:, 0, 0] = 0.5
    alone = LagTransition.build(stages, 1, MONTHLY, past=past, psi=psi)
    assert alone.weight.shape == (3, 2), "days of hydros without lags do not matter"


@pytest.mark.parametrize("first", ["2024-12-02", "2024-12-07"], ids=["ISO weeks", "weeks from Saturday"])
def test_weeks_of_a_weekly_cycle_shift(first):
    days = np.datetime64(first) + 7 * np.arange(8)
    weeks = [stage(i, str(days[i]), str(days[i + 1]), min(48 + i, 51) if i < 4 else i - 4) for i in range(7)]
    assert LagTransition.build(weeks, 2, WEEKLY).is_plain_shift


def test_quarters_of_a_custom_cycle_shift_and_their_months_gather():
    quarters = consecutive_stages("2024-01-01 2024-04-01 2024-07-01 2024-10-01 2025-01-01", range(4))
    assert LagTransition.build(quarters, 1, QUARTERLY).is_plain_shift
    by_month = [stage(s.id, str(s.start_date), str(s.end_date), s.id // 3) for s in months(12)]
    transition = LagTransition.build(by_month, 1, QUARTERLY)
    seen = _run(transition, np.arange(1.0, 13.0)[:, None], transition.initial(PastRecord(np.array([[50.0]]))))
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
    days = "2024-01-01 2024-01-08 2024-01-15 2024-01-22 2024-01-29 2024-02-10 2024-03-01"
    weeks = consecutive_stages(days, [0] * 5 + [1])
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
    days = "2024-01-01 2024-01-08 2024-01-15 2024-01-22 2024-01-29 2024-02-05 2024-03-01"
    weeks = consecutive_stages(days, [0] * 5 + [1])
    transition = LagTransition.build(weeks, 1, MONTHLY)
    constant = _run(transition, np.full((6, 1), 17.0), transition.initial(PastRecord(np.array([[17.0]]))))
    assert constant[:, 0, 0] == pytest.approx([17.0] * 6)


@pytest.mark.parametrize(
    ("stages", "seasons", "message"),
    [
        (
            [stage(0, "2024-03-01", "2024-04-01", 0)],
            MONTHLY,
            "season 0 .2024-01-01 to 2024-02-01., which its dates do not touch",
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
            "a season of 90 days after one of 31 days",
        ),
    ],
)
def test_a_calendar_that_no_lag_can_follow_is_refused(stages, seasons, message):
    with pytest.raises(ValidationError, match=message) as caught:
        LagTransition.build(stages, 1, seasons)
    assert caught.value.kind == "IncompatibleSettings"


MONTHS_AND_QUARTERS = SeasonDefinitions(
    "custom",
    (
        *(
            Season(m, f"M{m + 1}", m + 1, 1, m + 1, 28 if m == 1 else 30 if m in (3, 5, 8, 10) else 31)
            for m in range(12)
        ),
        *(Season(12 + q, f"Q{q + 1}", 3 * q + 1, 1, 3 * q + 3, 31 if q in (0, 3) else 30) for q in range(4)),
    ),
)


def months_then_quarters(n_months, n_quarters, year=2025):
    """Whole months from January on, then quarters."""
    stages = months(n_months, year=year)
    starts = [
        f"{year + m // 12}-{m % 12 + 1:02}-01" for m in range(n_months, n_months + 3 * n_quarters + 1, 3)
    ]
    for k in range(n_quarters):
        season = 12 + (n_months // 3 + k) % 4
        stages.append(stage(n_months + k, starts[k], starts[k + 1], season))
    return stages


def test_quarters_after_months_begin_with_the_means_of_the_months():
    transition = LagTransition.build(months_then_quarters(6, 3), 1, MONTHS_AND_QUARTERS)
    assert transition.names == ("inflow_lag1", "inflow_so_far_level2")
    inflows = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 7.0, 8.0, 9.0])[:, None]
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[5.0]]))))
    assert seen[:5, 0, 0].tolist() == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert seen[5, 0, 0] == pytest.approx((30 * 40 + 31 * 50 + 30 * 60) / 91), "the second quarter"
    assert seen[6:, 0, 0].tolist() == [7.0, 8.0, 9.0]
    assert (seen[6:, 1] == 0.0).all()


def test_the_mean_of_a_quarter_is_gathered_only_while_it_is_needed():
    transition = LagTransition.build(months_then_quarters(9, 2), 1, MONTHS_AND_QUARTERS)
    assert (transition.weight[:6, 1] == 0.0).all()
    assert (transition.weight[6:8, 1] > 0.0).all()


def test_two_lags_of_quarters_need_two_quarters_of_months():
    transition = LagTransition.build(months_then_quarters(6, 2), 2, MONTHS_AND_QUARTERS)
    inflows = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 7.0, 8.0])[:, None]
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[5.0], [4.0]]))))
    first, second = (31 * 10 + 28 * 20 + 31 * 30) / 90, (30 * 40 + 31 * 50 + 30 * 60) / 91
    assert seen[4, :2, 0].tolist() == [50.0, 40.0]
    assert seen[5, :2, 0] == pytest.approx([second, first])
    assert seen[6, :2, 0] == pytest.approx([7.0, second])
    assert seen[7, :2, 0] == pytest.approx([8.0, 7.0])


def test_lags_of_quarters_before_the_study_come_from_past_months():
    stages = months_then_quarters(3, 2)
    past = PastRecord(np.array([[6.0], [5.0], [4.0], [3.0]]))
    transition = LagTransition.build(stages, 2, MONTHS_AND_QUARTERS, past=past)
    seen = _run(transition, np.array([[10.0], [20.0], [30.0], [7.0], [8.0]]), transition.initial(past))
    assert seen[2, :2, 0] == pytest.approx(
        [(31 * 10 + 28 * 20 + 31 * 30) / 90, (31 * 6 + 30 * 5 + 31 * 4) / 92]
    )
    with pytest.raises(
        ValidationError, match="from then until 2025-01-01 is known for 61 days only"
    ) as caught:
        LagTransition.build(stages, 2, MONTHS_AND_QUARTERS, past=PastRecord(np.array([[6.0], [5.0]])))
    assert caught.value.context["field"] == "past_inflows"


def test_a_study_that_starts_within_a_quarter_takes_its_first_months_from_the_past():
    stages = [*months(2, first=1, year=2025), stage(2, "2025-04-01", "2025-07-01", 13)]
    past = PastRecord(np.array([[100.0]]))
    transition = LagTransition.build(stages, 1, MONTHS_AND_QUARTERS, past=past)
    seen = _run(transition, np.array([[10.0], [20.0], [7.0]]), transition.initial(past))
    assert seen[0, 0, 0] == 10.0
    assert seen[1, 0, 0] == pytest.approx((31 * 100 + 28 * 10 + 31 * 20) / 90)


def test_quarters_that_read_no_lag_ask_for_nothing():
    psi = np.zeros((5, 1, 1))
    psi[:3] = 0.5
    transition = LagTransition.build(months_then_quarters(3, 2), 1, MONTHS_AND_QUARTERS, psi=psi)
    assert transition.n_components == 1


def test_weeks_then_months_then_quarters_hand_over_twice():
    days = (
        "2025-01-01 2025-01-08 2025-01-15 2025-01-22 2025-01-29 2025-02-05 2025-03-01 2025-04-01 2025-07-01"
    )
    stages = consecutive_stages(days, [0] * 5 + [1, 2, 13])
    transition = LagTransition.build(stages, 1, MONTHS_AND_QUARTERS)
    inflows = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]])
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[50.0]]))))
    assert seen[:4, 0, 0].tolist() == [50.0] * 4
    assert seen[4, 0, 0] == pytest.approx((7 * (1 + 2 + 3 + 4) + 3 * 5) / 31), "January"
    assert seen[5, 0, 0] == pytest.approx((4 * 5 + 24 * 6) / 28), "February"
    quarter = 7 * (1 + 2 + 3 + 4 + 5) + 24 * 6 + 31 * 7
    assert seen[6, 0, 0] == pytest.approx(quarter / 90), "the first quarter"


def test_the_months_of_a_quarter_that_a_quarterly_stage_completes_count_in_it():
    days = "2025-01-01 2025-02-01 2025-03-01 2025-04-01 2025-05-01 2025-07-01 2025-10-01"
    stages = consecutive_stages(days, [0, 1, 2, 3, 13, 14])
    transition = LagTransition.build(stages, 1, MONTHS_AND_QUARTERS)
    inflows = np.array([[10.0], [20.0], [30.0], [40.0], [70.0], [8.0]])
    seen = _run(transition, inflows, transition.initial(PastRecord(np.array([[5.0]]))))
    assert seen[3, 0, 0] == pytest.approx((31 * 10 + 28 * 20 + 31 * 30) / 90), "the first quarter"
    assert seen[4, 0, 0] == pytest.approx((30 * 40 + 61 * 70) / 91), "the second one, April included"


def test_months_after_quarters_are_refused():
    stages = consecutive_stages("2025-01-01 2025-04-01 2025-05-01", [12, 3])
    with pytest.raises(ValidationError, match="stage 1 .* has a shorter season than the stage before it"):
        LagTransition.build(stages, 1, MONTHS_AND_QUARTERS)


def test_a_constant_inflow_stays_constant_through_every_hand_over():
    weeks, rest = "2025-01-11 2025-01-20 2025-02-03", "2025-03-01 2025-04-01 2025-05-01 2025-06-01"
    quarters = "2025-07-01 2025-10-01 2026-01-01"
    stages = consecutive_stages(f"{weeks} {rest} {quarters}", [0, 0, 1, 2, 3, 4, 5, 14, 15])
    past = PastRecord(np.full((6, 1), 17.0), observed((0, "2025-01-01", "2025-01-11", 17.0)))
    transition = LagTransition.build(stages, 2, MONTHS_AND_QUARTERS, past=past)
    seen = _run(transition, np.full((9, 1), 17.0), transition.initial(past))
    assert seen[:, :2, 0] == pytest.approx(np.full((9, 2), 17.0))
