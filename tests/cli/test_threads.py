"""``cobre run --threads``: the same files, and clear words about numbers that are none."""

from __future__ import annotations

import json
import os

import pytest

import warm
from cobre.io.examples import write_example
from cobre.study.threads import VARIABLE
from small_case import set_limits

DEADLINE_S = 60


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads") / "case"
    write_example(folder)
    return set_limits(folder, 3, scenarios=5)


def test_a_run_with_threads_writes_the_same_bytes_and_reports_their_number(example, tmp_path):
    outputs = {}
    for threads in (1, 3):
        output = tmp_path / str(threads)
        done = warm.run_cobre(
            ["run", str(example), "--threads", str(threads), "--output", str(output), "--quiet"],
            env=dict(os.environ),
            cwd=None,
            stdin="",
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, done.stderr
        for part in ("training", "simulation"):
            metadata = json.loads((output / part / "metadata.json").read_text())
            assert metadata["distribution"]["threads_per_rank"] == threads
        outputs[threads] = {
            path.relative_to(output): path.read_bytes()
            for folder in ("policy", "simulation")
            for path in sorted((output / folder).rglob("*"))
            if path.is_file() and path.suffix != ".json" and "solver" not in path.parts
        }
    assert outputs[1] == outputs[3] != {}


@pytest.mark.parametrize(
    ("arguments", "variable"), [(("--threads", "none"), None), (("-n", "many"), None), ((), "many")]
)
def test_wrong_numbers_end_with_the_status_of_wrong_usage(example, tmp_path, arguments, variable):
    env = dict(os.environ) if variable is None else {**os.environ, VARIABLE: variable}
    words = ["run", str(example), "--output", str(tmp_path / "out"), *arguments]
    done = warm.run_cobre(words, env=env, cwd=None, stdin="", timeout=DEADLINE_S)
    assert done.returncode == 4, done.stderr
    assert "fix:" in done.stderr
    assert "auto" in done.stderr
