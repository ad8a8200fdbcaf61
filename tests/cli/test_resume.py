"""``cobre run`` after a run that did not end, and from policies of other runs: real processes, real files."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from cli.test_run import case_in, cobre
from cobre.cli import main
from cobre.sddp.checkpointing import checkpoints_in
from small_case import set_limits

DEADLINE_S = 60
SAME = ["iteration", "lower_bound", "upper_bound", "gap_percent", "cuts_active"]


def configure(case, iterations, **policy):
    set_limits(case, iterations, scenarios=0)
    path = case / "config.json"
    config = json.loads(path.read_text())
    config["policy"] = policy
    path.write_text(json.dumps(config))


EVERY = {"checkpointing": {"enabled": True, "interval_iterations": 1}}


def case_with_checkpoints(folder, iterations):
    case = case_in(folder)
    configure(case, iterations, **EVERY)
    return case


def bits(output):
    table = pq.read_table(output / "training/convergence.parquet", columns=SAME)
    return (output / "policy/policy.cobre").read_bytes(), table


def metadata(output):
    return json.loads((output / "training/metadata.json").read_text())


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A case, and an output folder in which a run was killed with everything it had started."""
    case = case_with_checkpoints(tmp_path_factory.mktemp("killed"), 15)
    command = [sys.executable, "-m", "cobre", "run", str(case), "--quiet"]
    with subprocess.Popen(command, start_new_session=True) as process:
        deadline = time.monotonic() + DEADLINE_S
        while not checkpoints_in(case / "output/checkpoint") and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert checkpoints_in(case / "output/checkpoint")
    assert not (case / "output/_SUCCESS").exists()
    return case


def copied(case, tmp_path):
    return shutil.copytree(case, tmp_path / "case")


def test_a_folder_with_an_unfinished_run_is_not_overwritten_and_the_remedy_is_named(killed):
    before = checkpoints_in(killed / "output/checkpoint")
    ended = cobre("run", killed, "--quiet")
    assert ended.returncode == 2
    assert "holds a run that did not end" in ended.stderr
    assert "--resume" in ended.stderr
    assert "--fresh" in ended.stderr
    assert checkpoints_in(killed / "output/checkpoint") == before


def test_a_killed_run_continues_to_the_same_bits_and_metadata_says_where(killed, tmp_path):
    case = copied(killed, tmp_path)
    newest = checkpoints_in(case / "output/checkpoint")[0]
    ended = cobre("run", case, "--resume", "-n", 2)
    assert ended.returncode == 0, ended.stderr
    assert "continues after iteration" in ended.stderr
    assert cobre("run", case, "--output", tmp_path / "whole", "--quiet").returncode == 0
    assert bits(case / "output") == bits(tmp_path / "whole")
    found = metadata(case / "output")["resumed_from"]
    assert found["checkpoint"] == str(newest)
    assert found["iteration"] >= 1
    assert metadata(tmp_path / "whole")["resumed_from"] is None


def test_fresh_starts_again(killed, tmp_path):
    case = copied(killed, tmp_path)
    configure(case, 2, **EVERY)
    assert main(["run", str(case), "--fresh", "--quiet"]) == 0
    assert metadata(case / "output")["resumed_from"] is None
    assert [path.name for path in checkpoints_in(case / "output/checkpoint")] == [
        "iteration_000002.checkpoint",
        "iteration_000001.checkpoint",
    ]


def test_a_changed_study_is_refused_with_the_difference(killed, tmp_path, capsys):
    case = copied(killed, tmp_path)
    config = json.loads((case / "config.json").read_text())
    config["training"]["selection"]["forward_passes"] += 1
    (case / "config.json").write_text(json.dumps(config))
    assert main(["run", str(case), "--resume", "--quiet"]) == 1
    n = config["training"]["selection"]["forward_passes"]
    said = " ".join(capsys.readouterr().err.split())
    assert f"the number of forward passes (training.selection) was {n - 1}, now {n}" in said


def test_unreadable_checkpoints_end_a_run_with_status_2(killed, tmp_path, capsys):
    case = copied(killed, tmp_path)
    for path in checkpoints_in(case / "output/checkpoint"):
        path.write_bytes(path.read_bytes()[:-7])
    assert main(["run", str(case), "--resume", "--quiet"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "damaged or cut short" in message
    assert "start again with --fresh" in message


def test_a_warm_start_reads_and_replaces_the_policy_of_the_output_folder(tmp_path, capsys):
    case = case_in(tmp_path)
    assert main(["run", str(case), "--quiet"]) == 0
    before = metadata(case / "output")
    configure(case, 1, mode="warm_start")
    assert main(["run", str(case)]) == 0
    assert "training starts with" in capsys.readouterr().err
    after = metadata(case / "output")
    assert after["final_lower_bound"] >= before["final_lower_bound"] * (1 - 1e-9)
    assert after["total_cuts"] > before["total_cuts"]
    assert before["row_pool"]["total_loaded"] == 0
    assert after["row_pool"]["total_loaded"] == before["total_cuts"]


def test_a_warm_start_without_a_policy_says_where_it_looked(tmp_path, capsys):
    case = case_in(tmp_path)
    configure(case, 1, mode="warm_start")
    assert main(["run", str(case), "--quiet"]) == 2
    assert "there is no policy in" in capsys.readouterr().err


def test_a_boundary_that_does_not_fit_names_the_policy_and_the_dates(tmp_path, capsys):
    case = case_in(tmp_path)
    assert main(["run", str(case), "--quiet"]) == 0
    configure(case, 1, boundary={"path": "policy", "source_stage": 3})
    assert main(["run", str(case), "--quiet"]) == 1
    message = " ".join(capsys.readouterr().err.split())
    assert "output/policy: stage 3 of the policy ends on" in message
