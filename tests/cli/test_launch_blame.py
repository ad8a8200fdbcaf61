"""``cobre run`` on several ranks that cannot go on: every rank says why it ends unless rank 0 does, and the launcher
names the rank that is the cause."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import mpi_ranks
from cobre.core.case import Conventions
from cobre.io.examples import write_example
from cobre.study import RunPlan, idle_workers, load_case
from launches import start
from matrices import every_value_once
from small_case import set_limits

# What `cobre run` does, except that a rank that has failed takes its time to end.
SLOW_TO_END = """
from cobre.cli import main
status = main(["run", *sys.argv[2:]])
if os.environ["COBRE_SHM_RANK"] == sys.argv[1]:
    time.sleep(0.7)
sys.exit(status)
"""

# What `cobre run` does, except that training fails on rank 1 alone.
FAILS_ON_RANK_1 = """
from cobre.study import training_rank
from cobre.cli import main
from cobre.errors import SolverError
train = training_rank.train
def fail(comm, case, **options):
    if comm.rank == 1:
        raise SolverError(3, 1, "infeasible")
    return train(comm, case, **options)
training_rank.train = fail
sys.exit(main(["run", *sys.argv[1:]]))
"""


@pytest.fixture
def case(tmp_path):
    write_example(tmp_path / "case")
    return tmp_path / "case"


@pytest.fixture
def endless(case):
    """A case that trains until it is stopped."""
    return set_limits(case, 100_000)


@pytest.mark.few(1)
@pytest.mark.parametrize(("slow", "form"), every_value_once((0, 1), ("text", "json")))
def test_rank_0_is_named_for_its_failure_whichever_rank_ends_first(cobre, program, case, slow, form):
    run = [program(SLOW_TO_END), slow, case, "--output", "/proc/x", "--output-format", form]
    done = cobre("launch", "-n", 2, *run, check=2)
    assert "[1]" not in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("[0] cobre: cannot write /proc/x") == (form == "text")
    assert "cobre launch: rank 0 of 2 failed with exit status 2\n" in done.stderr


def test_a_rank_that_fails_alone_says_why_and_is_named(cobre, program, case):
    done = cobre("launch", "-n", 3, program(FAILS_ON_RANK_1), case, check=3)
    assert "[1] cobre: stage 3, iteration 1: the solver answered infeasible\n" in done.stderr
    assert re.search(
        r"^cobre launch: rank 1 of 3 failed( first,)? with exit status 3", done.stderr, re.MULTILINE
    )
    assert "Traceback" not in done.stderr


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_other_machine_reports_why_rank_0_ended(environ, endless):
    """As with a cut cable: nothing of what rank 0 prints is seen over there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    nodes = ["--backend", "tcp", "--nodes", 2, "--coordinator", coordinator, "-n", 2]
    run = ["-m", "cobre", "run", endless]
    machine_a = start(environ, *nodes, "--node-rank", 0, *run)
    machine_b = start(environ, *nodes, "--node-rank", 1, *run)
    with machine_a, machine_b:
        while not machine_a.stdout.readline().startswith("[0]         1"):
            assert machine_a.poll() is None
        [rank_0] = [pid for pid in children_of(machine_a.pid) if b"COBRE_TCP_RANK=0" in environ_of(pid)]
        os.kill(rank_0, signal.SIGKILL)
        _, complaints = machine_b.communicate(timeout=50)
        machine_a.communicate(timeout=50)
    assert machine_b.returncode == 4
    said = [line for line in complaints.splitlines() if line.startswith("[1] cobre: ")]
    assert len(said) == 1, complaints
    assert "rank 0" in said[0]
    assert "cobre launch: no rank here failed by itself; rank 1 of 2 ended first" in complaints


def environ_of(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("library", mpi_ranks.LIBRARIES)
def test_under_mpiexec_an_error_of_rank_0_is_shown_once_and_no_job_is_aborted(case, library):
    python = mpi_ranks.python_of(library)
    mpiexec = Path(python).parent / "mpiexec"
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    oversubscribe = ["--oversubscribe"] if library == "openmpi" else []
    run = [python, "-m", "cobre", "run", case, "--output", "/proc/x"]
    done = mpi_ranks.run(mpiexec, *oversubscribe, "-n", 2, *run, **allowed)
    assert done.returncode == 2, done.stdout
    assert done.stdout.count("cobre: cannot write /proc/x") == 1, done.stdout
    assert "aborting" not in done.stdout


def test_a_signal_under_mpiexec_lets_rank_0_write_what_was_trained(endless):
    """mpiexec ends the job when a rank has ended with a status, and the others could before rank 0 has written."""
    python = mpi_ranks.python_of("openmpi")
    launch = [python, "-m", "cobre", "launch", "--backend", "mpi", "-n", "2", "--no-prefix"]
    command = [*launch, "-m", "cobre", "run", str(endless)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while not process.stdout.readline().startswith("        1"):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=50)[0]
    assert "stopped on request" in rest, rest
    assert (endless / "output" / "training" / "metadata.json").exists()


IDLE = "an iteration has 2 trajectories to share: 1 of 3 workers is idle"


@pytest.fixture
def short(case):
    """One iteration of two trajectories."""
    set_limits(case, 1, forward_passes=2, scenarios=2)
    return case


@pytest.mark.parametrize(
    ("plan", "ranks", "told"),
    [
        (RunPlan(), 2, None),
        (RunPlan(), 3, IDLE),
        (RunPlan(scenarios=9), 4, "2 of 4 workers are idle"),
        (RunPlan(trains=False, scenarios=9), 9, None),
        (
            RunPlan(trains=False, scenarios=1),
            2,
            "the simulation has 1 scenario to share: 1 of 2 workers is idle",
        ),
    ],
)
def test_idle_ranks_are_counted(short, plan, ranks, told):
    found = idle_workers(load_case(short), plan, ranks)
    assert len(found) == (told is not None)
    assert all(told in warning.message and "-n" in warning.remedy for warning in found)


@pytest.mark.parametrize(
    ("plan", "key", "older"),
    [
        (RunPlan(), "training.selection.forward_passes", "training.forward_passes"),
        (RunPlan(trains=False), "simulation.selection.num_scenarios", "simulation.num_scenarios"),
    ],
)
def test_the_setting_to_raise_has_its_name_in_the_file(short, plan, key, older):
    case = load_case(short)
    for each, name in ((case, key), (replace(case, conventions=Conventions()), older)):
        [warning] = idle_workers(each, plan, 3)
        assert warning.field == name
        assert warning.remedy.endswith(f"or raise {name}")


def test_idle_workers_are_reported_once_by_run_and_launch(cobre, short):
    done = cobre("run", short, "-n", 3, check=0)
    assert f"{IDLE}\n  fix: start 2 or fewer (-n 2), " in done.stderr
    launched = cobre(
        "launch", "-n", 3, "--no-prefix", "-m", "cobre", "run", short, "--output-format", "json", check=0
    )
    assert launched.stderr.count(IDLE) == 1
    assert [each["message"] for each in json.loads(launched.stdout)["warnings"]] == [IDLE]


def test_rank_0_reports_that_there_is_nothing_to_do_and_no_rank_waits(cobre, case):
    config = json.loads((case / "config.json").read_text())
    config["training"]["enabled"] = False
    (case / "config.json").write_text(json.dumps(config))
    done = cobre("launch", "-n", 2, "-m", "cobre", "run", case, "--skip-simulation", check=4)
    assert done.stderr.count("there is nothing to do") == 1, done.stderr
    assert "cobre launch: rank 0 of 2 failed with exit status 4\n" in done.stderr
