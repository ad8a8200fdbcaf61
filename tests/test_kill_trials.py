"""Runs that are killed at random moments and continued: the results are those of an undisturbed run, to the bit.

The suite makes a dozen trials; ``COBRE_TEST_SOAK=1`` makes a hundred. What is killed (everything, one rank, the
launcher), when, and on how many ranks of which backend the run goes on are drawn from a seed, which is in the name of
the test. Some runs are held inside the writing of a checkpoint, some have a disk that is full.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from cli.test_resume import SAME, configure
from cli.test_run import case_in
from cobre.sddp.checkpointing import checkpoints_in
from mpi_ranks import LIBRARIES, python_of
from workers_of import children, ranks_that_write, workers_of

IS_LONG = bool(os.environ.get("COBRE_TEST_SOAK"))
TRIALS = 100 if IS_LONG else 12
DEADLINE_S = 120
ITERATIONS = 6
PLACES = [(1, "auto"), (2, "shm"), (2, "tcp")]
if IS_LONG:
    PLACES += [(3, "shm"), (3, "tcp"), (2, "openmpi"), (2, "mpich")]
EVERY = {"checkpointing": {"enabled": True, "interval_iterations": 1}}

pytestmark = pytest.mark.timeout(600)

# Imported by every interpreter of a trial: a disk that is slow, or full after some checkpoints.
DISK = """
import os, time
sync, slow_s, full_after = os.fsync, float(os.environ["TRIAL_SLOW_S"]), int(os.environ["TRIAL_FULL_AFTER"])
count = 0
def fsync(descriptor):
    global count
    if "iteration_" in os.readlink(f"/proc/self/fd/{descriptor}"):
        count += 1
        time.sleep(slow_s)
        if full_after and count > full_after:
            raise OSError(28, "No space left on device")
    sync(descriptor)
os.fsync = fsync
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = case_in(tmp_path_factory.mktemp("case"))
    configure(folder, ITERATIONS, **EVERY)
    (folder / "sitecustomize.py").write_text(DISK)
    return folder


@pytest.fixture(scope="module")
def undisturbed(case, tmp_path_factory):
    output = tmp_path_factory.mktemp("undisturbed")
    succeed(start(case, output))
    return bits(output)


def start(case, output, workers=1, backend="auto", *words, slow_s=0.0, full_after=0):
    """A run in a session of its own."""
    path = os.pathsep.join(filter(None, [str(case), os.environ.get("PYTHONPATH")]))
    disk = {"PYTHONPATH": path, "TRIAL_SLOW_S": str(slow_s), "TRIAL_FULL_AFTER": str(full_after)}
    program = ["-m", "cobre", "run", str(case), "--output", str(output), "--quiet", *words]
    if backend in LIBRARIES:
        launcher = ["-m", "cobre", "launch", "-n", str(workers), "--backend", "mpi"]
        command = [python_of(backend), *launcher, *program]
    else:
        command = [sys.executable, *program]
        command += ["-n", str(workers), "--backend", backend] if workers > 1 else []
    return subprocess.Popen(
        command,
        env={**os.environ, **disk},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def bits(output):
    table = pq.read_table(output / "training/convergence.parquet", columns=SAME)
    found = hashlib.sha256((output / "policy/policy.cobre").read_bytes())
    for name in SAME:
        found.update(table[name].to_numpy().tobytes())
    return found.hexdigest()


def strike(process, target, output, backend):
    """Kill what ``target`` says. The ranks of a killed launcher are killed by their guard."""
    ranks = ranks_that_write(output) if backend in LIBRARIES else workers_of(process.pid)
    if target == "everything":
        victims = [process.pid, *children(process.pid), *(ranks if backend in LIBRARIES else ())]
    elif target == "a rank" and ranks:
        victims = [random.choice(ranks)]
    else:
        victims = [process.pid]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_for_moment(process, output, moment, rng):
    """Return when the run is where it is to be struck, or has ended."""
    deadline = time.monotonic() + DEADLINE_S
    folder = output / "checkpoint"
    wanted = rng.randrange(1, ITERATIONS)
    while process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            finish(process)
            pytest.fail(f"the run did not get to the moment ({moment}) at which it is to be killed")
        if moment == "starting" or (moment == "writing" and list(folder.glob(".iteration_*"))):
            break
        found = checkpoints_in(folder)
        if found and int(found[0].stem.rpartition("_")[2]) >= wanted:
            break
        time.sleep(0.002)
    time.sleep(rng.random() * {"starting": 1.0, "writing": 0.01, "running": 0.1}[moment])


def finish(process):
    """End what is left of a run that was struck; what it said."""
    with process:
        try:
            _, said = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return said


def succeed(process):
    said = finish(process)
    assert process.returncode == 0, said


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_killed_run_continues_to_the_bits_of_an_undisturbed_one(case, undisturbed, tmp_path, seed):
    rng = random.Random(seed)
    random.seed(seed)
    output = tmp_path / "out"
    for _ in range(rng.randrange(1, 4) if IS_LONG else 1):
        workers, backend = rng.choice(PLACES)
        moment = rng.choice(["running", "writing", "starting"] if IS_LONG else ["running", "writing"])
        is_full = rng.random() < 0.15
        process = start(
            case,
            output,
            workers,
            backend,
            "--resume" if checkpoints_in(output / "checkpoint") else "--fresh",
            slow_s=0.05 if moment == "writing" else 0.0,
            full_after=rng.randrange(1, ITERATIONS) if is_full else 0,
        )
        wait_for_moment(process, output, moment, rng)
        strike(process, rng.choice(["everything", "a rank", "the launcher"]), output, backend)
        finish(process)
    workers, backend = rng.choice(PLACES)
    last = start(
        case, output, workers, backend, "--resume" if checkpoints_in(output / "checkpoint") else "--fresh"
    )
    succeed(last)
    assert bits(output) == undisturbed
    left = [path.name for path in (output / "checkpoint").iterdir() if path.name.startswith(".")]
    assert left == []
    assert len(checkpoints_in(output / "checkpoint")) <= 2


def test_a_disk_that_fills_up_ends_the_run_and_the_run_goes_on_once_there_is_space(
    case, undisturbed, tmp_path
):
    with start(case, tmp_path, 2, "shm", full_after=2) as process:
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert "No space left on device" in errors
    assert [path.name for path in checkpoints_in(tmp_path / "checkpoint")] == [
        "iteration_000002.checkpoint",
        "iteration_000001.checkpoint",
    ]
    succeed(start(case, tmp_path, 1, "auto", "--resume"))
    assert bits(tmp_path) == undisturbed
