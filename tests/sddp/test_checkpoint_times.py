"""By default training also saves where it stands every ten minutes; the clock of the first rank decides."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cobre.comm import run
from cobre.core.config import Checkpointing
from cobre.sddp import checkpointing
from cobre.sddp.checkpointing import CheckpointPlan, checkpoints_in, iteration_of
from cobre.sddp.training import train
from sddp.studies import study
from sddp.trained import settings, trained

DUE_AFTER_S = 600.0


class SlowClock:
    """A clock on which each look takes so many seconds; training looks once in an iteration, and at each saving."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._now = time.perf_counter()

    def perf_counter(self):
        self._now += self._seconds
        return self._now


def put_clock(monkeypatch, seconds):
    monkeypatch.setattr(checkpointing, "time", SlowClock(seconds))


def saved_in(folder):
    return [iteration_of(path) for path in checkpoints_in(folder)]


def test_the_default_is_ten_minutes():
    assert Checkpointing().interval_s == CheckpointPlan(Path()).interval_s == DUE_AFTER_S


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (1.0, [7]),  # 7 minutes
        (4.0, [7, 6]),  # after 3 and 6 iterations, and at the end
        (10.0, [7, 6]),  # after each
    ],
)
def test_a_checkpoint_is_due_ten_minutes_after_the_last_one(tmp_path, monkeypatch, minutes, expected):
    put_clock(monkeypatch, 60.0 * minutes)
    trained(study(training=settings(7)), checkpoints=CheckpointPlan(tmp_path))
    assert saved_in(tmp_path) == expected


def test_an_interval_of_iterations_leaves_the_ten_minutes_as_they_are(tmp_path, monkeypatch):
    put_clock(monkeypatch, 240.0)
    trained(study(training=settings(7)), checkpoints=CheckpointPlan(tmp_path, interval_iterations=100))
    assert saved_in(tmp_path) == [7, 6]


def _minutes_of_rank(comm, folder, minutes):
    checkpointing.time = SimpleNamespace(perf_counter=SlowClock(60.0 * minutes[comm.rank]).perf_counter)
    train(comm, study(training=settings(3)), checkpoints=CheckpointPlan(folder))


@pytest.mark.parametrize(("minutes", "expected"), [((0.0, 20.0), [3]), ((20.0, 0.0), [3, 2])])
def test_the_clock_of_the_first_rank_decides_for_all(tmp_path, minutes, expected):
    run(_minutes_of_rank, num_workers=2, args=(tmp_path, minutes))
    assert saved_in(tmp_path) == expected
