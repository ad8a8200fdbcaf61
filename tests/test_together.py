"""Tests that run beside each other: at the same time, each with its own outcome, and only those that were chosen."""

from __future__ import annotations

import os
import re
import signal

import pytest

from nested import run_pytest

pytestmark = pytest.mark.waits
TESTS = """
import subprocess, sys, threading
import leaks
import pytest

leaks.GRACE_S = 0.5  # what is left here ends by no means
MET = threading.Barrier({met})

@pytest.mark.waits
@pytest.mark.parametrize("number", range(3))
def test_meets(number, tmp_path):
    (tmp_path / "mine").touch(exist_ok=False)
    MET.wait(20)
    assert number != 1, "one is wrong"

@pytest.mark.waits
def test_is_skipped():
    pytest.skip("for a reason")

@pytest.mark.waits
def test_leaves():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "lazy"])

@pytest.mark.waits
def test_asks_for_too_much(capsys):
    pass
"""


def _pytest(folder, *choice, met):
    return run_pytest(folder, TESTS.format(met=met), *choice)


@pytest.mark.soak
def test_they_meet_and_each_has_its_own_outcome(tmp_path):
    said = _pytest(tmp_path, "-k", "meets or skipped", met=3)
    assert "1 failed, 2 passed, 1 skipped, 2 deselected" in said, said
    assert "FAILED test_some.py::test_meets[1] - AssertionError: one is wrong" in said, said
    assert "for a reason" in said, said


@pytest.mark.soak
def test_deselected_tests_do_not_run(tmp_path):
    said = _pytest(tmp_path, "test_some.py::test_meets[0]", "test_some.py::test_meets[2]", met=2)
    assert "2 passed" in said, said


def test_leftovers_are_reported_with_all_tests_that_ran(tmp_path):
    said = _pytest(tmp_path, "-k", "meets or leaves", met=3)
    found = re.search(r"left behind by (.*): \[.process (\d+): .* lazy ", said)
    assert found, said
    os.kill(int(found[2]), signal.SIGKILL)
    names = (*(f"test_meets[{number}]" for number in range(3)), "test_leaves")
    assert found[1] == " or ".join(f"test_some.py::{name}" for name in names)


def test_a_fixture_that_cannot_be_shared_is_refused(tmp_path):
    said = _pytest(tmp_path, "-k", "too_much", met=1)
    assert "it takes parameters and ['sockets_path', 'tmp_path'], not ['capsys']" in said, said
