"""Ranks that ``mpiexec``, ``prterun`` or ``srun`` started where mpi4py is not installed: an error, never several
ranks that each do the whole work."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mpi_ranks
import warm
from cobre.io.examples import write_example
from small_case import set_limits

pytestmark = pytest.mark.skipif(find_spec("mpi4py") is not None, reason="needs a Python without mpi4py")

STARTERS = {
    "openmpi": ("openmpi", "mpiexec", "2 ranks (OMPI_COMM_WORLD_SIZE=2)"),
    "pmix": ("openmpi", "prterun", "ranks (PMIX_RANK="),
    "mpich": ("mpich", "mpiexec", "2 ranks (PMI_SIZE=2)"),
}
ALLOWED = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}
REMEDY = "pip install mpi4py"

# This program ends well, so that mpiexec does not end the other rank before it has told.
DOORS = """
import contextlib, io, json, sys
import cobre, cobre.cli
from cobre.comm import create_communicator

case = sys.argv[1]
doors = {
    "create_communicator": create_communicator,
    "train": lambda: cobre.train(case),
    "run -n 1": lambda: cobre.cli.main(["run", case, "-n", "1"]),
    "doctor": lambda: cobre.cli.main(["doctor"]),
}
for name, door in doors.items():
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            status = door()
        except cobre.CobreError as error:
            status = error.exit_status
            output.write(str(error))
    sys.stdout.write(json.dumps([name, status, output.getvalue()]) + "\\n")
    sys.stdout.flush()
"""


def start(starter, *command):
    """Two ranks of a command, started by a real launcher; stdout and stderr in one."""
    library, program, _ = STARTERS[starter]
    path = Path(mpi_ranks.python_of(library)).parent / program
    options = ["--oversubscribe"] if library == "openmpi" else []
    return mpi_ranks.run(path, *options, "-n", 2, *command, **ALLOWED)


@pytest.fixture
def case(tmp_path):
    write_example(tmp_path / "case")
    return tmp_path / "case"


@pytest.mark.parametrize("starter", STARTERS)
def test_cobre_run_under_a_launcher_ends_with_the_remedy_and_trains_nothing(starter, case):
    done = start(starter, sys.executable, "-m", "cobre", "run", case)
    assert done.returncode == 4, done.stdout
    assert STARTERS[starter][2] in done.stdout
    assert REMEDY in done.stdout
    assert "Traceback" not in done.stdout
    assert not (case / "output").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("starter", STARTERS)
def test_every_other_entry_point_reports_it_too(starter, case, tmp_path):
    program = tmp_path / "doors.py"
    program.write_text(DOORS)
    done = start(starter, sys.executable, program, case)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(told) == 2 * 4, done.stdout
    for name, status, output in told:
        assert isinstance(status, int), f"{name} went on alone"
        assert status == (1 if name == "doctor" else 4), name
        assert STARTERS[starter][2] in output, name
        assert REMEDY in output, name
        assert "problem  environment" in output or name != "doctor"
    assert not (case / "output").exists()


def slurm_step(tasks):
    """What srun sets in a step of so many tasks, inside a batch script of four."""
    return {
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "4",
        "SLURM_PROCID": "0",
        **({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(tasks)} if tasks else {}),
    }


QUICKLY = ("--quiet", "--skip-simulation")


def run_with(variables, *arguments):
    words = [str(argument) for argument in arguments]
    return warm.run_cobre(words, env={**os.environ, **variables}, cwd=None, stdin="", timeout=60)


def test_a_step_of_several_tasks_is_an_error(case):
    done = run_with(slurm_step(4), "run", case)
    assert done.returncode == 4, done.stderr
    assert "4 ranks (SLURM_STEP_NUM_TASKS=4)" in done.stderr
    assert REMEDY in done.stderr
    assert not (case / "output").exists()


@pytest.mark.parametrize("tasks", [0, 1], ids=["batch script", "step of one"])
def test_one_process_of_slurm_trains_alone_or_with_workers_of_its_own(case, tasks):
    set_limits(case, 2)
    done = run_with(slurm_step(tasks), "run", case, *(["-n", 2] if tasks else []), *QUICKLY)
    assert done.returncode == 0, done.stderr


def test_backend_local_runs_one_process_inside_a_step(case):
    set_limits(case, 2)
    done = run_with(slurm_step(4), "run", case, "--backend", "local", *QUICKLY)
    assert done.returncode == 0, done.stderr
