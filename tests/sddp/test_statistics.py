from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from cobre.comm import LocalCommunicator
from cobre.sddp.statistics import aggregate_statistics, gather_rows, statistics_of


def test_mean_sample_deviation_and_half_width():
    costs = [3.0, 5.0, 10.0, 2.0]
    found = statistics_of(costs)
    assert found.mean == 5.0
    assert found.std == pytest.approx(statistics.stdev(costs))
    assert found.ci_95 == pytest.approx(1.96 * statistics.stdev(costs) / math.sqrt(4))


def test_one_trajectory_has_no_deviation():
    found = statistics_of([7.5])
    assert (found.mean, found.std, found.ci_95) == (7.5, 0.0, 0.0)


def test_sums_run_in_scenario_order():
    costs = [1e16, 1.0, -1e16, 1.0]
    assert statistics_of(costs).mean == (((1e16 + 1.0) - 1e16) + 1.0) / 4


def test_statistics_take_the_block_of_this_rank():
    with LocalCommunicator() as comm:
        assert aggregate_statistics(comm, np.array([1.0, 3.0]), 2).mean == 2.0
        assert gather_rows(comm, np.ones((2, 0)), 2).shape == (2, 0)
