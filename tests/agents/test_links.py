"""Links and large files in a case that somebody else made: nothing is written through them, nothing outside is read."""

from __future__ import annotations

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcp import MCPError

from agents.served import call, content, ended, error, server_of, talk
from agents.test_hostile import everything, nothing_opened_outside
from cobre.errors import CobreError
from cobre.io import parquet
from cobre.mcp.tools import running
from cobre.study import starting
from small_case import write_small_case

pytestmark = pytest.mark.timeout(300)

LINKS = {
    "training/console.log": "config.json",
    "training/events.jsonl": "stages.json",
    "training/run.json": "penalties.json",
    "training": "system",
    "simulation": "scenarios",
    "policy": "system",
    "checkpoint": ".",
    "_SUCCESS": "config.json",
}


@pytest.fixture
def place(tmp_path):
    """``root`` is served; the case ``other`` in it belongs to somebody else; ``outside`` is beside the root."""
    folder = tmp_path.resolve()
    write_small_case(folder / "root" / "case", iterations=1)
    write_small_case(folder / "root" / "other", iterations=1)
    write_small_case(folder / "outside", iterations=1)
    return folder


def contents(folder):
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.is_symlink()
    }


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("how", ["overwrite", "resume", None])
def test_results_are_not_written_through_a_link_to_another_case(place, name, how):
    root = place / "root"
    link = root / "case/output" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(root / "other" / LINKS[name])
    before = contents(root / "other")
    refused = error(
        call(
            server_of(root),
            "cobre_run",
            {"case_dir": "case", "wait_s": 0, **({how: True} if how else {})},
        )
    )
    assert refused["kind"] == "NotAllowed"
    assert name in refused["message"]
    assert contents(root / "other") == before


def test_reports_and_exports_are_not_written_through_links(place, folder):
    root = place / "root"
    shutil.copytree(folder / "less", root / "less")
    for name, target in (("report.html", "page.html"), ("exports", "tables")):
        (root / "other" / target).mkdir() if name == "exports" else (root / "other" / target).write_text(
            "mine"
        )
        (root / "less" / name).symlink_to(root / "other" / target)
    before = contents(root / "other")

    async def conversation(client):
        found = [
            await client.call_tool("cobre_report", {"output_dir": "less"}),
            await client.call_tool(
                "cobre_export_results", {"output_dir": "less", "format": "csv", "entity_type": "costs"}
            ),
        ]
        assert [error(each)["kind"] for each in found] == ["NotAllowed"] * 2
        named = {"output_dir": "less", "file": "page.html"}
        assert content(await client.call_tool("cobre_report", named))["file_path"] == "page.html"

    talk(server_of(root), conversation)
    assert contents(root / "other") == before


def test_results_may_lie_behind_a_link_of_the_case_to_their_folder(place, folder):
    root = place / "root"
    shutil.copytree(folder / "less", root / "results")
    (root / "case/output").symlink_to(root / "results")
    assert content(call(server_of(root), "cobre_report", {"output_dir": "case"}))["file_path"].endswith(
        "report.html"
    )


def test_a_folder_named_training_that_no_run_wrote_is_left_alone(place):
    root = place / "root"
    (root / "courses/training/timing").mkdir(parents=True)
    (root / "courses/training/timing/notes").write_text("mine")
    before = contents(root)
    arguments = {"case_dir": "case", "output_dir": "courses", "overwrite": True, "wait_s": 0}
    assert error(call(server_of(root), "cobre_run", arguments))["kind"] == "NotAllowed"
    assert contents(root) == before


@pytest.mark.parametrize("ending", ["staging", "previous"])
@pytest.mark.parametrize("name", ["policies", "."])
def test_a_policy_that_an_interrupted_write_left_beside_is_not_read_from_outside(place, ending, name):
    root = place / "root"
    (root / "policies").mkdir()
    left = place / "outside" / "left"
    left.mkdir()
    (left / "manifest.bin").write_bytes(b"secret")
    beside = root / f"policies.{ending}" if name == "policies" else place / f"root.{ending}"
    beside.symlink_to(left)
    calls = [
        ("cobre_inspect_policy", {"policy_dir": name}),
        ("cobre_evaluate_policy", {"policy_dir": name, "stage": 0, "states": [{}]}),
    ]
    if name == "policies":
        for policy in (
            {"mode": "warm_start", "path": "../../policies"},
            {"boundary": {"path": "../policies"}},
        ):
            given = {"case_dir": "case", "config_overrides": {"policy": policy}, "wait_s": 0}
            calls.append(("cobre_run", given))

    async def conversation(client):
        return [error(await client.call_tool(tool, given))["kind"] for tool, given in calls]

    before = everything(place)
    with nothing_opened_outside(place):
        assert talk(server_of(root), conversation) == ["NotAllowed"] * len(calls)
    assert everything(place) == before


@pytest.mark.parametrize("inner", ["link", "fifo"])
def test_a_policy_to_start_from_is_looked_through(place, inner):
    root = place / "root"
    (root / "policies").mkdir()
    if inner == "link":
        (root / "policies/policy.cobre").symlink_to(place / "outside/config.json")
    else:
        os.mkfifo(root / "policies/policy.cobre")
    overrides = {"policy": {"mode": "warm_start", "path": "../../policies"}}
    arguments = {"case_dir": "case", "config_overrides": overrides, "wait_s": 0}
    assert error(call(server_of(root), "cobre_run", arguments))["kind"] == "NotAllowed"


@pytest.mark.parametrize("path", ["x" * 300, "x/" * 3000, "a\0b"])
def test_a_path_that_no_file_can_have_is_refused_before_a_run_starts(place, path):
    overrides = {"policy": {"mode": "warm_start", "path": path}}
    arguments = {"case_dir": "case", "config_overrides": overrides, "wait_s": 0}
    refused = error(call(server_of(place / "root"), "cobre_run", arguments))
    assert refused["kind"] == "NotAllowed"
    assert not (place / "root/case/output").exists()


def test_the_command_line_says_that_a_policy_path_is_too_long(tmp_path):
    with pytest.raises(CobreError, match="File name too long"):
        starting._policy(None, [tmp_path], "x" * 300)


def test_overrides_that_are_too_long_for_a_program_are_refused(place):
    rules = [{"type": "iteration_limit", "limit": 2}] * 4000
    arguments = {"case_dir": "case", "config_overrides": {"training": {"stopping_rules": rules}}}
    refused = error(call(server_of(place / "root"), "cobre_run", arguments))
    assert refused["kind"] == "LimitExceeded"
    assert "config.json" in refused["suggestion"]


@pytest.mark.parametrize(
    ("file", "size", "calls"),
    [
        ("case/config.json", 201, [("cobre_validate", {"case_dir": "case"})]),
        ("case/scenarios/inflow_seasonal_stats.parquet", 2001, [("cobre_validate", {"case_dir": "case"})]),
        (
            "less/policy/policy.cobre",
            2001,
            [
                ("cobre_inspect_policy", {"policy_dir": "less"}),
                ("cobre_compare_runs", {"run_a": "less", "run_b": "less"}),
            ],
        ),
    ],
)
def test_a_file_that_would_fill_the_memory_is_not_read(place, folder, file, size, calls):
    root = place / "root"
    shutil.copytree(folder / "less", root / "less")
    with (root / file).open("r+b") as opened:
        opened.truncate(size * 1_000_000)  # takes no space on the disk

    async def conversation(client):
        return [error(await client.call_tool(tool, given)) for tool, given in calls]

    for refused in talk(server_of(root), conversation):
        assert refused["kind"] == "LimitExceeded"
        assert f"{size} MB" in refused["message"]


def test_settings_of_a_folder_that_is_no_case_are_missing(place):
    (place / "root/empty").mkdir()

    async def conversation(client):
        with pytest.raises(MCPError) as refused:
            await client.read_resource("cobre://case/empty/config")
        return json.loads(str(refused.value).splitlines()[-1])

    assert talk(server_of(place / "root"), conversation)["kind"] == "MissingFile"


def test_settings_behind_a_link_inside_are_shown(place):
    config = place / "root/case/config.json"
    config.rename(place / "root/settings.json")
    config.symlink_to(place / "root/settings.json")
    facts = content(call(server_of(place / "root"), "cobre_inspect_case", {"case_dir": "case"}))
    assert facts["config"] == json.loads((place / "root/settings.json").read_bytes())


def test_the_time_to_wait_counts_from_the_beginning_of_the_call(place, monkeypatch):
    begin, wait, seen = running.start, running._wait, {}

    def note_begin(service, arguments):
        seen["began"] = running.time.monotonic()
        return begin(service, arguments)

    async def note_wait(managed, deadline, context):
        seen.setdefault("first", deadline)
        await wait(managed, deadline, context)

    async def conversation(client):
        arguments = {"case_dir": "case", "wait_s": 0.5}
        await ended(client, content(await client.call_tool("cobre_run", arguments)))

    monkeypatch.setattr(running, "start", note_begin)
    monkeypatch.setattr(running, "_wait", note_wait)
    talk(server_of(place / "root"), conversation)
    assert seen["first"] <= seen["began"] + 0.5


def test_a_small_file_with_a_table_that_would_fill_the_memory_is_not_read(place, folder, monkeypatch):
    root = place / "root"
    shutil.copytree(folder / "less", root / "less")
    path = root / "less/training/convergence.parquet"
    few = pq.read_table(path)
    many = pa.concat_tables([few.slice(0, 1)] * 1000).combine_chunks()
    with pq.ParquetWriter(path, few.schema) as writer:
        for _ in range(10):
            writer.write_table(many)
    answer = content(call(server_of(root), "cobre_query_convergence", {"output_dir": "less", "limit": 3}))
    assert (len(answer["iterations"]), answer["truncated"]) == (3, True)
    monkeypatch.setattr(parquet, "MOST_VALUES", 9_999)
    refused = error(call(server_of(root), "cobre_query_convergence", {"output_dir": "less"}))
    assert "values, more than" in refused["message"]
