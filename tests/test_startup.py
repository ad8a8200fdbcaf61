"""What a run does before and after its iterations: it loads only what it needs, and everything once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cobre.cli import main
from cobre.io import loading
from cobre.io.examples import write_example
from cobre.io.validate import semantics
from cobre.sddp import kept_problems
from commands import run_command
from small_case import set_limits

NOT_NEEDED = {
    "pyarrow.compute",
    "numpy.ma",
    "rich",
    "cobre.comm.launch.group",
    "cobre.comm.launch.process",
    "cobre.comm.run_on_ranks",
    "cobre.draw",
    "cobre.io.validate.history",
    "cobre.production.fit",
    "cobre.production.function",
    "cobre.sddp.public_policy",
    "cobre.sddp.simulation.tables",
    "cobre.solver.infeasibility",
    "cobre.stochastic.fitting.fit",
    "cobre.stochastic.residual_noise",
    "cobre.study.results",
    "cobre.study.simulation",
}
PROGRAM = """
import json, os, sys
opened = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        opened.append(os.fspath(arguments[0]))
sys.addaudithook(watch)
from cobre.cli import main
status = main(["run", "case", "--quiet", "--skip-simulation"])
print(json.dumps({"status": status, "opened": opened, "modules": sorted(sys.modules)}))
"""


ENDING = """
import atexit, sys, threading
from cobre import _process
class Last:
    def __del__(self):
        print("freed")
def main():
    global last
    last = Last()
    last.itself = last
    atexit.register(print, "registered")
    threading.Thread(target=lambda: (threading.Event().wait(0.05), print("thread"))).start()
    print("main")
    {more}
    return 7
sys.exit(_process.run_alone(main))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """What ``cobre run`` of the example opened and imported, training for one iteration."""
    folder = tmp_path_factory.mktemp("startup")
    write_example(folder / "case")
    set_limits(folder / "case", 1)
    done = run_command([sys.executable, "-c", PROGRAM], timeout=120, cwd=folder, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == 0
    return found


def test_a_run_that_only_trains_imports_nothing_for_simulations_fits_workers_and_screens(watched):
    assert not NOT_NEEDED & set(watched["modules"])


def test_every_file_of_a_case_is_opened_once(watched):
    read = [path for path in watched["opened"] if path.startswith("case/")]
    inputs = [path for path in read if not path.startswith("case/output")]
    assert len(inputs) > 8
    assert sorted(inputs) == sorted(set(inputs))


def test_loading_assembles_a_case_once(tmp_path, monkeypatch):
    write_example(tmp_path / "case")
    calls = []

    def counted(files):
        calls.append(files)
        return assemble(files)

    assemble = semantics.assemble
    monkeypatch.setattr(semantics, "assemble", counted)
    loading.load(tmp_path / "case")
    assert len(calls) == 1


def test_training_and_simulation_of_a_run_share_the_stage_problems(tmp_path, monkeypatch):
    write_example(tmp_path / "case")
    set_limits(tmp_path / "case", 1)
    calls = []

    def counted(case, *arguments, **more):
        calls.append(case)
        return build(case, *arguments, **more)

    build = kept_problems.build_stage_problems
    monkeypatch.setattr(kept_problems, "build_stage_problems", counted)
    for _ in range(2):
        assert main(["run", str(tmp_path / "case"), "--quiet", "--scenarios", "2", "--fresh"]) == 0
    assert len(calls) == len({id(case) for case in calls}) == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("pass", ["main", "thread", "registered"]),
        ("_process.needs_whole_end()", ["main", "thread", "registered", "freed"]),
    ],
)
def test_a_process_of_our_own_runs_exit_handlers_and_frees_nothing(more, said):
    program = [sys.executable, "-c", ENDING.replace("{more}", more)]
    done = run_command(program)
    assert (done.returncode, done.stdout.split(), done.stderr) == (7, said, "")


def test_a_process_of_our_own_that_cannot_flush_says_so():
    program = [sys.executable, "-c", ENDING.replace("{more}", "pass")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            program,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env=environment,
        )
    assert done.returncode == 120
    assert "No space left on device" in done.stderr


def test_numpy_starts_no_threads_in_a_process_of_our_own_and_children_inherit_nothing(tmp_path):
    code = """
import os, sys
from cobre import _process, cli
def main():
    cli.import_or_end("numpy")
    print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
    return 0
sys.exit(_process.run_alone(main))
"""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    program = [sys.executable, "-c", code]
    done = run_command(program, check=True, env=environment)
    assert done.stdout.split() == ["1", "None"]
