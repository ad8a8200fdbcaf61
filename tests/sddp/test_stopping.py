from __future__ import annotations

import pytest

from cobre.core.config import BoundStalling, IterationLimit, TimeLimit
from cobre.sddp.stopping import iteration_limit, reason_to_stop


def stop(rules, bounds, elapsed_s=0.0, need_all=False):
    return reason_to_stop(rules, need_all=need_all, lower_bounds=bounds, elapsed_s=elapsed_s)


def test_iteration_limit_ends_at_its_number():
    assert stop([IterationLimit(3)], [1.0, 2.0]) is None
    assert stop([IterationLimit(3)], [1.0, 2.0, 3.0]) == "iteration_limit"


def test_time_limit_ends_the_iteration_that_passes_it():
    assert stop([TimeLimit(10.0)], [1.0], 9.9) is None
    assert stop([TimeLimit(10.0)], [1.0], 10.0) == "time_limit"


@pytest.mark.parametrize(
    ("bounds", "is_over"),
    [
        ([100.0, 100.0], False),  # fewer bounds than the window
        ([100.0, 100.0, 100.0], True),
        ([90.0, 100.0, 100.5], False),  # 10.5 of 100.5 over the window of three
        ([50.0, 100.0, 100.2, 100.5], True),  # looks back two steps: 0.5 of 100.5
        ([0.1, 0.1, 0.105], True),  # small bounds are measured against one
    ],
)
def test_bound_stalling_looks_back_over_its_window(bounds, is_over):
    assert (stop([BoundStalling(3, 0.006)], bounds) == "bound_stalling") is is_over


def test_any_rule_stops_and_the_first_listed_gives_its_name():
    rules = [BoundStalling(1, 1.0), IterationLimit(1)]
    assert stop(rules, [5.0]) == "bound_stalling"
    assert stop(list(reversed(rules)), [5.0]) == "iteration_limit"


def test_all_rules_must_agree_at_once():
    rules = [IterationLimit(2), TimeLimit(5.0)]
    assert stop(rules, [1.0, 1.0], 1.0, need_all=True) is None
    assert stop(rules, [1.0], 9.0, need_all=True) is None
    assert stop(rules, [1.0, 1.0], 9.0, need_all=True) == "time_limit"


def test_without_rules_nothing_stops():
    assert stop([], [1.0], need_all=True) is None
    assert stop([], [1.0]) is None


def test_the_smallest_iteration_limit_is_what_progress_counts_to():
    assert iteration_limit([IterationLimit(7), TimeLimit(1.0), IterationLimit(5)]) == 5
    assert iteration_limit([TimeLimit(1.0)]) is None
