"""The files for clusters and containers parse, name what exists, and their command works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import cobre
from cli.test_launch_nodes import free_port
from cobre.cli import launch, run
from cobre.io.examples import write_example
from small_case import set_limits

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"
SCRIPTS = [
    *sorted(DEPLOY.glob("*.sh")),
    ROOT / ".ci/run",
    ROOT / ".ci/check-wheel",
    ROOT / ".ci/try-installed",
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_valid_for_bash(script):
    subprocess.run(["bash", "-n", script], timeout=60, check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "--severity", "warning", script], timeout=60, check=True)


@pytest.mark.parametrize("script", sorted(DEPLOY.glob("slurm-*.sh")), ids=lambda path: path.name)
def test_options_for_slurm_stand_before_the_first_command(script):
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH --")]
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert options
    assert max(options) < first


@pytest.fixture
def job():
    service, job = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    assert service["kind"] == "Service"
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    return job


def command_of(job):
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["bash", "-c"]
    (text,) = container["args"]
    return container, text


def test_the_job_for_kubernetes_fits_together(job):
    container, text = command_of(job)
    before, _, command = text.replace("$JOB_COMPLETION_INDEX", "0").partition("exec cobre launch ")
    assert before.endswith("; ")
    words = shlex.split(command.replace("$resume", "--resume"))
    options, passed_on = launch._parse(launch.build_parser(), words)
    assert not passed_on
    assert options.nodes == job["spec"]["completions"] == job["spec"]["parallelism"]
    assert options.size % options.nodes == 0
    host, _, _ = options.coordinator.partition(":")
    assert host == f"{job['metadata']['name']}-0.{job['spec']['template']['spec']['subdomain']}"
    run.build_parser().parse_args(options.program[3:])
    assert options.program[:3] == ["-m", "cobre", "run"]
    assert "COBRE_TCP_SECRET" in [variable["name"] for variable in container["env"]]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in job["spec"]["template"]["spec"]["volumes"]}


def test_the_command_of_the_job_trains_over_two_launchers(job, tmp_path, monkeypatch):
    _, text = command_of(job)
    write_example(tmp_path / "my_case")
    set_limits(tmp_path / "my_case", 2, scenarios=0)
    here = text.replace("cobre-0.cobre:29500", f"127.0.0.1:{free_port()}").replace("-n 8", "-n 2")
    here = here.replace("exec cobre", f"exec {shlex.quote(sys.executable)} -m cobre")
    monkeypatch.setenv("COBRE_TCP_SECRET", "a secret of this test")
    pods = []
    for index in ("0", "1"):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", index)
        pods.append(subprocess.Popen(["bash", "-c", here], cwd=tmp_path, stdout=-1, stderr=-2, text=True))
    printed = [pod.communicate(timeout=100)[0] for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0], printed
    policy = cobre.Policy.load(tmp_path / "my_case" / "output" / "policy")
    assert policy.summary()["stages"] == 12


def test_the_image_copies_what_exists_from_stages_that_exist():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    stages = {match[1] for line in lines if (match := re.fullmatch(r"FROM \S+ AS (\S+)", line))}
    copied = [shlex.split(line)[1:] for line in lines if line.startswith("COPY")]
    for first, *rest in copied:
        if first.startswith("--from="):
            assert first.removeprefix("--from=") in stages
            assert rest[0] == "/opt/cobre"
        else:
            assert (ROOT / first).exists()
    project = (ROOT / "pyproject.toml").read_text()
    for extra in re.search(r"'\.\[(.*)\]'", "\n".join(lines))[1].split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


def test_hooks_before_a_commit_run_the_commands_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = (ROOT / "Makefile").read_text().partition("\nlint: strict\n")[2].partition("\n\n")[0]
    checks = [
        line.split("$$(")[0].replace("$(BIN)", ".venv/bin").strip().removesuffix(" .")
        for line in recipe.splitlines()
    ]
    entries = [hook["entry"] for hook in hooks]
    assert checks[:3] == entries[:3]
    assert "make --no-print-directory lint" in entries  # and with it the build, before a push


def test_the_citation_is_complete():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "date-released", "license"} <= set(
        citation
    )
