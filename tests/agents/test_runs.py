"""Runs through a real server: handles, progress, cancelling, stopping, the end of the server, and their bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import anyio
import pytest

from agents.served import (
    COMMAND,
    INITIALIZE,
    PATIENT,
    checked,
    content,
    ended,
    error,
    quiet_stdio,
    server_of,
    talk,
)
from cobre import study
from cobre._machine import process_start
from small_case import write_small_case

DEADLINE_S = 120
ENDLESS = 1_000_000

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder(tmp_path):
    return tmp_path.resolve()


def wait_until(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def bits(output):
    """Everything of a run that does not tell times."""
    tables = [path for path in output.glob("simulation/**/*.parquet") if path.parent.name != "solver"]
    found = {path.relative_to(output): path.read_bytes() for path in tables}
    found |= {path.relative_to(output): path.read_bytes() for path in output.glob("policy/*")}
    assert len(found) > 5
    return found


async def until_iteration(client, run_id):
    """Wait until a run has trained for a while."""
    with anyio.fail_after(DEADLINE_S):
        while True:
            facts = content(await client.call_tool("cobre_run_status", {"run_id": run_id}))
            assert facts["status"] == "running"
            if facts["training"] is not None:
                return facts
            await anyio.sleep(0.1)


def test_a_run_has_the_bits_of_the_command_line_and_reports_rising_progress(folder):
    case = write_small_case(folder / "case", iterations=3, scenarios=4)
    words = [sys.executable, "-m", "cobre", "run", str(case), "--quiet", "--output", str(folder / "own")]
    subprocess.run(words, check=True, timeout=DEADLINE_S)
    for name in ("cobre", "numpy", "highspy", "json"):  # modules that an agent may have put there
        (folder / f"{name}.py").write_text("raise SystemExit('taken over')\n")
    told = []

    async def hear(progress, total, message):
        told.append((progress, total, message))

    async def conversation(client):
        tools = (await client.list_tools()).tools
        arguments = {"case_dir": "case", "wait_s": PATIENT, "workers": 2}
        facts = checked(
            tools, "cobre_run", await client.call_tool("cobre_run", arguments, progress_callback=hear)
        )
        while facts["status"] == "running":
            arguments = {"run_id": facts["run_id"], "wait_s": PATIENT}
            facts = checked(tools, "cobre_run_status", await client.call_tool("cobre_run_status", arguments))
        again = error(await client.call_tool("cobre_run", {"case_dir": "case"}))
        assert again["kind"] == "NotAllowed"
        assert "overwrite" in again["suggestion"]
        listed = checked(tools, "cobre_list_runs", await client.call_tool("cobre_list_runs", {}))
        assert listed["runs"] == [facts]
        return facts

    facts = talk(quiet_stdio("--allow-write", cwd=folder), conversation)
    assert facts["status"] == "completed"
    assert facts["training"]["iterations"] == 3
    assert facts["simulation"]["scenarios"] == 4
    files = facts["simulation"]["output_files"]
    assert {"case/output/simulation/costs", "case/output/simulation/metadata.json"} <= set(files)
    assert all((folder / file).exists() for file in files)
    assert bits(case / "output") == bits(folder / "own")
    steps = [progress for progress, _, _ in told]
    assert steps == sorted(set(steps))
    assert told


def test_no_gap_is_reported_for_a_single_trajectory(folder):
    write_small_case(folder / "case", iterations=3, scenarios=2)
    told = []

    async def hear(progress, total, message):
        told.append(message)

    async def conversation(client):
        overrides = {"training.forward_passes": 1}
        arguments = {
            "case_dir": "case",
            "phases": "training",
            "config_overrides": overrides,
            "wait_s": PATIENT,
        }
        facts = content(await client.call_tool("cobre_run", arguments, progress_callback=hear))
        while facts["status"] == "running":
            arguments = {"run_id": facts["run_id"], "wait_s": PATIENT}
            facts = content(await client.call_tool("cobre_run_status", arguments, progress_callback=hear))
        convergence = content(
            await client.call_tool("cobre_query_convergence", {"output_dir": "case/output"})
        )
        return facts["training"], convergence

    for answer in talk(quiet_stdio("--allow-write", cwd=folder), conversation):
        assert answer["gap"] is not None
        assert answer["gap"].startswith(
            ("not shown: ", "<")
        )  # the bound lies within the interval, or none is known
    assert all("gap -" not in message for message in told)


def test_overrides_and_phases_are_those_of_the_command_line(folder):
    case = write_small_case(folder / "case", iterations=9, scenarios=2)
    overrides = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    words = [
        "run",
        str(case),
        "--quiet",
        "--output",
        str(folder / "own"),
        "--config-overrides",
        json.dumps(overrides),
    ]
    subprocess.run(
        [sys.executable, "-m", "cobre", *words, "--scenarios", "3"], check=True, timeout=DEADLINE_S
    )
    server = server_of(folder)

    async def conversation(client):
        async def run(**arguments):
            facts = content(
                await client.call_tool("cobre_run", {"case_dir": "case", "wait_s": PATIENT, **arguments})
            )
            while facts["status"] == "running":
                arguments = {"run_id": facts["run_id"], "wait_s": PATIENT}
                facts = content(await client.call_tool("cobre_run_status", arguments))
            return facts

        trained = await run(phases="training", config_overrides=overrides)
        assert trained["simulation"] is None
        simulated = await run(phases="simulation", scenarios=3, config_overrides=overrides)
        assert simulated["status"] == "completed"

    talk(server, conversation)
    assert bits(case / "output") == bits(folder / "own")


def test_cancelling_the_call_stops_the_run_after_its_iteration_and_keeps_the_policy(folder):
    case = write_small_case(folder / "case", iterations=ENDLESS)

    async def conversation(client):
        async with anyio.create_task_group() as group:

            async def started(progress, total, message):
                if progress > 0:
                    group.cancel_scope.cancel()

            await client.call_tool(
                "cobre_run", {"case_dir": "case", "wait_s": PATIENT}, progress_callback=started
            )
        runs = content(await client.call_tool("cobre_list_runs", {}))["runs"]
        facts = await ended(client, runs[0])
        assert facts["status"] == "partial", facts
        assert "cancelled" in facts["stopped_by"]

    talk(quiet_stdio("--allowed-dirs", folder, "--allow-write"), conversation)
    assert (case / "output" / "policy").is_dir()
    assert not (case / "output" / "_SUCCESS").exists()


def test_a_detached_run_outlives_its_call_is_stopped_and_resumed(folder):
    case = write_small_case(folder / "case", iterations=ENDLESS)

    async def conversation(client):
        async with anyio.create_task_group() as group:

            async def started(progress, total, message):
                group.cancel_scope.cancel()

            arguments = {"case_dir": "case", "wait_s": PATIENT, "detach": True}
            await client.call_tool("cobre_run", arguments, progress_callback=started)
        (live,) = content(await client.call_tool("cobre_list_runs", {}))["runs"]
        await until_iteration(client, live["run_id"])
        second = error(await client.call_tool("cobre_run", {"case_dir": "case", "output_dir": "other"}))
        assert second["kind"] == "LimitExceeded"
        arguments = {"run_id": live["run_id"], "wait_s": PATIENT}
        stopped = await ended(client, content(await client.call_tool("cobre_stop_run", arguments)))
        assert stopped["status"] == "partial"
        assert stopped["training"]["termination_reason"] == "shutdown"
        unfinished = error(await client.call_tool("cobre_run", {"case_dir": "case", "wait_s": PATIENT}))
        assert unfinished["kind"] == "UnfinishedRun"
        limit = stopped["training"]["iterations"] + 2
        rules = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": limit}]}}
        arguments = {"case_dir": "case", "resume": True, "config_overrides": rules, "wait_s": PATIENT}
        resumed = await ended(client, content(await client.call_tool("cobre_run", arguments)))
        assert resumed["status"] == "completed"
        assert resumed["training"]["iterations"] == limit

    talk(server_of(folder), conversation)
    assert (case / "output" / "_SUCCESS").exists()


@pytest.mark.parametrize(("limit", "why"), [("time", "longer than"), ("disk", "the disk has less")])
def test_a_run_that_takes_too_long_or_fills_the_disk_is_stopped(folder, limit, why):
    write_small_case(folder / "case", iterations=ENDLESS)
    server = server_of(folder, max_seconds=0.5 if limit == "time" else 1000)

    async def conversation(client):
        facts = content(await client.call_tool("cobre_run", {"case_dir": "case", "wait_s": 0}))
        if limit == "disk":
            server.service.runs.get(facts["run_id"])._min_free_mb = (
                10**12
            )  # as if the disk were nearly full now
        return await ended(client, facts)

    facts = talk(server, conversation)
    assert facts["status"] == "partial"
    assert why in facts["stopped_by"]


def started_server(folder):
    """A server that is at work on an endless run; its process, and that of the run."""
    words = [COMMAND, "--allowed-dirs", str(folder), "--allow-write"]
    server = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for message in (
        INITIALIZE,
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "cobre_run", "arguments": {"case_dir": "case", "wait_s": 0, "detach": True}},
        },
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in range(2)]
    assert not answers[1]["result"].get("isError"), answers
    run = folder / "case" / "output"
    wait_until(lambda: (run / "training" / "run.json").exists())
    return server, study.attach(run)


@pytest.mark.parametrize(
    "end", ["killed", *(["closed", "terminated"] if "COBRE_TEST_SOAK" in os.environ else [])]
)
def test_no_run_continues_after_its_server_has_ended(folder, end):
    write_small_case(folder / "case", iterations=ENDLESS)
    server, run = started_server(folder)
    pid = run.facts["pid"]
    wait_until(lambda: run.state().last is not None)
    if end == "closed":
        server.stdin.close()
    else:
        os.killpg(server.pid, signal.SIGTERM if end == "terminated" else signal.SIGKILL)
    assert server.wait(DEADLINE_S) == {"closed": 0, "terminated": 143, "killed": -9}[end]
    server.stdin.close()
    server.stdout.close()
    wait_until(lambda: process_start(pid) is None)
    assert run.state().status == "partial"
    assert (folder / "case" / "output" / "policy").is_dir()
