"""Threads of a rank: how many there are, and that no result shows it."""

from __future__ import annotations

import os

import numpy as np
import pytest

import cobre
from cobre.comm import LocalCommunicator
from cobre.errors import CobreError
from cobre.io.examples import write_example
from cobre.study.threads import VARIABLE, share_of_rank, threads_of_rank, wanted_threads
from small_case import set_limits


@pytest.mark.parametrize(
    ("given", "variable", "expected"),
    [
        (None, None, 1),
        (None, "", 1),
        (None, "4", 4),
        (None, "auto", "auto"),
        (2, "4", 2),
        (np.int64(3), None, 3),
        ("auto", "4", "auto"),
    ],
)
def test_an_argument_wins_over_the_variable_and_one_thread_is_the_default(given, variable, expected):
    environ = {} if variable is None else {VARIABLE: variable}
    assert wanted_threads(given, environ) == expected


@pytest.mark.parametrize(
    ("given", "variable"),
    [(0, None), (-1, None), (True, None), (1.5, None), ("two", None), (None, "0"), (None, "x")],
)
def test_an_invalid_number_of_threads_is_refused_by_name(given, variable):
    with pytest.raises(CobreError, match="number of threads") as caught:
        wanted_threads(given, {} if variable is None else {VARIABLE: variable})
    assert ("COBRE_THREADS" if variable else "threads") in caught.value.message
    assert caught.value.suggestion


@pytest.mark.parametrize(
    ("masks", "quota", "expected"),
    [
        ([[1, 1, 1, 1]], None, [4]),
        ([[1, 1, 1, 1]] * 2, None, [2, 2]),
        ([[1, 1, 0, 0], [0, 0, 1, 1]], None, [2, 2]),
        ([[1, 1, 1, 1]] * 3, None, [1, 1, 1]),
        ([[1, 0, 0, 0]] * 2, None, [1, 1]),
        ([[1, 1, 1, 1]] * 2, 2.0, [1, 1]),
        ([[1, 1, 1, 1]], 1.5, [1]),
    ],
)
def test_ranks_of_a_machine_share_its_processors(masks, quota, expected):
    found = [share_of_rank(np.array(masks), rank, quota) for rank in range(len(masks))]
    assert found == expected


def test_auto_gives_one_process_what_it_may_use():
    with LocalCommunicator() as comm:
        assert 1 <= threads_of_rank(comm, "auto") <= len(os.sched_getaffinity(0))
        assert threads_of_rank(comm, 7) == 7


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads") / "case"
    write_example(folder)
    return set_limits(folder, 3)


def test_workers_with_threads_train_the_same_policy(example):
    alone = cobre.train(example)
    both = cobre.train(example, num_workers=2, threads=2)
    assert both.policy.to_bytes() == alone.policy.to_bytes()
    assert both.threads == 2
