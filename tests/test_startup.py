"""What a run does before and after its iterations: it loads only what it needs, and everything once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cobre.io import loading
from cobre.io.examples import write_example
from cobre.io.validate import semantics

NOT_NEEDED = {
    "pyarrow.compute",
    "numpy.ma",
    "rich",
    "cobre.comm.launch.group",
    "cobre.comm.run_on_ranks",
    "cobre.io.validate.history",
    "cobre.sddp.simulation.tables",
    "cobre.solver.infeasibility",
    "cobre.stochastic.fitting.fit",
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


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """What ``cobre run`` of the example opened and imported, training for one iteration."""
    folder = tmp_path_factory.mktemp("startup")
    write_example(folder / "case")
    config = json.loads((folder / "case" / "config.json").read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": 1}]
    (folder / "case" / "config.json").write_text(json.dumps(config))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env=dict(os.environ),
    )
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
