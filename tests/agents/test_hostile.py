"""Calls of a hostile client: every one is refused, and nothing outside the folders is read or written."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from mcp import MCPError

from agents.served import PATIENT, call, content, error, quiet_stdio, server_of, talk
from cobre.mcp.confinement import landlock_version
from commands import run_command
from small_case import write_small_case

pytestmark = pytest.mark.timeout(300)
SECRET = "the secret outside"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """``root`` is served; beside it there is a secret, a sibling with a similar name, and a case with results."""
    folder = tmp_path_factory.mktemp("hostile").resolve()
    root = folder / "root"
    root.mkdir()
    (folder / "root-evil").mkdir()
    (folder / "root-evil" / "config.json").write_text(json.dumps({"secret": SECRET}))
    (folder / "secret.json").write_text(json.dumps({"secret": SECRET}))
    write_small_case(root / "case", iterations=1)
    write_small_case(folder / "outside", iterations=1)
    (root / "link").symlink_to(folder / "outside")
    (root / "chain").symlink_to(root / "link")
    (root / "dangling").symlink_to(folder / "not_yet")
    (root / "absolute").symlink_to("/etc")
    os.mkfifo(root / "fifo")
    with_fifo = write_small_case(root / "with_fifo", iterations=1)
    os.mkfifo(with_fifo / "system" / "pumping_stations.json")
    linked = write_small_case(root / "linked_file", iterations=1)
    (linked / "config.json").unlink()
    (linked / "config.json").symlink_to(folder / "secret.json")
    inner = write_small_case(root / "linked_folder", iterations=1)
    (inner / "scenarios").rename(inner / "moved")
    (inner / "scenarios").symlink_to(folder / "outside" / "scenarios")
    outlet = write_small_case(root / "linked_output", iterations=1)
    (outlet / "output").mkdir()
    (outlet / "output" / "training").symlink_to(folder)
    for name, policy in {
        "warm": {"mode": "warm_start", "path": "../../../outside/policy"},
        "absolute_policy": {"mode": "warm_start", "path": str(folder / "outside")},
        "boundary": {"boundary": {"path": "../../outside/policy"}},
        "absolute_boundary": {"boundary": {"path": "/etc"}},
        "nul_policy": {"mode": "warm_start", "path": "a\0b"},
    }.items():
        write_small_case(root / name, iterations=1, **policy)
    unix = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(root)  # the path of a socket has to be short
    unix.bind("socket")
    os.chdir(here)
    unix.close()
    return folder


@pytest.fixture(scope="module")
def server(place):
    """One for all calls that start no run."""
    return server_of(place / "root", max_calls_per_minute=100_000)


_opened: list[Path] | None = None


def _note_opened(event, arguments):
    if _opened is not None and event in (
        "open",
        "os.scandir",
        "os.listdir",
        "os.mkdir",
        "os.rename",
        "os.remove",
    ):
        name = arguments[0]
        if isinstance(name, str | bytes | os.PathLike):
            _opened.append(Path(os.path.realpath(os.fsdecode(name))))


sys.addaudithook(_note_opened)


@contextlib.contextmanager
def nothing_opened_outside(folder):
    """No file or folder beside the root is opened, listed or made meanwhile, whether or not its contents are told."""
    global _opened
    _opened = found = []
    try:
        yield
    finally:
        _opened = None
    root = folder / "root"
    assert [path for path in found if path.is_relative_to(folder) and not path.is_relative_to(root)] == []


def test_a_file_that_is_opened_outside_is_noticed(place):
    with pytest.raises(AssertionError, match="secret"), nothing_opened_outside(place):
        (place / "secret.json").read_bytes()


def everything(folder):
    """All files outside the root, with their contents."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and folder / "root" not in path.parents
    }


PATHS = {
    "parent": "..",
    "parents": "../../../../../../etc",
    "parent of a case": "case/../../outside",
    "absolute": "/etc",
    "root of all": "/",
    "sibling with a similar name": "{folder}/root-evil",
    "relative sibling": "../root-evil",
    "link": "link",
    "link to a link": "chain",
    "inside a link": "link/system",
    "absolute link": "absolute",
    "dangling link": "dangling",
    "proc": "/proc/self/cwd/../outside",
    "proc root": "/proc/self/root/etc",
    "device": "/dev/zero",
    "fifo": "fifo",
    "socket": "socket",
    "a file": "case/config.json",
    "nul": "case\x00/etc",
    "newline": "case\n",
    "escape sequence": "case\x1b[2J",
    "empty": "",
    "too long": "x" * 5000,
    "too long a part": "x" * 300,
    "very deep": "a/" * 1500,
    "home": "~/.ssh",
    "variable": "$HOME",
    "percent": "%2e%2e/outside",
    "backslash": "..\\outside",
    "right-to-left": "\u202ecase",
    "a case with a fifo": "with_fifo",
    "a case with a linked file": "linked_file",
    "a case with a linked folder": "linked_folder",
}


@pytest.mark.parametrize("text", PATHS.values(), ids=PATHS)
def test_paths_that_lead_elsewhere_are_refused_by_every_tool(place, server, text):
    before = everything(place)
    text = text.format(folder=place) if "{" in text else text
    calls = {
        "cobre_validate": {"case_dir": text},
        "cobre_inspect_case": {"case_dir": text},
        "cobre_list_scenarios": {"case_dir": text},
        "cobre_run": {"case_dir": text, "wait_s": 0},
        "cobre_query_results": {"output_dir": text, "entity_type": "hydros"},
        "cobre_query_convergence": {"output_dir": text},
        "cobre_inspect_policy": {"policy_dir": text},
        "cobre_evaluate_policy": {"policy_dir": text, "stage": 0, "states": [{}]},
        "cobre_compare_policies": {"policy_dirs": [text, text]},
        "cobre_compare_runs": {"run_a": text, "run_b": text},
        "cobre_export_results": {"output_dir": text, "format": "csv", "entity_type": "hydros"},
        "cobre_report": {"output_dir": text},
    }

    async def conversation(client):
        found = [error(await client.call_tool(name, arguments)) for name, arguments in calls.items()]
        for kind, part in (
            ("case", "config"),
            ("case", "entities/hydros"),
            ("case", "scenarios/0"),
            ("output", "convergence"),
            ("output", "results/hydros"),
            ("output", "policy/summary"),
            ("export", ""),
        ):
            uri = f"cobre://{kind}/{quote(text, safe='')}{'/' * bool(part)}{part}"
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            found.append(str(refused.value))
        return json.dumps(found)

    with nothing_opened_outside(place):
        told = talk(server, conversation)
    assert SECRET not in told
    assert str(place / "root") not in told.replace(text, "")
    assert everything(place) == before


TARGETS = [
    "../out",
    "/tmp/out",
    "link/out",
    "dangling",
    "case/config.json/out",
    "root-evil",
    ".",
    "absolute/out",
]


@pytest.mark.parametrize(
    "target", [*TARGETS, "linked_output/output", "case", "case/..", "warm", "warm/system"]
)
def test_results_are_written_below_allowed_folders_only(place, server, target):
    before = everything(place)
    if target == "root-evil":
        target = str(place / "root-evil")

    async def conversation(client):
        run = await client.call_tool("cobre_run", {"case_dir": "case", "output_dir": target, "wait_s": 0})
        assert error(run)["kind"] in ("NotAllowed", "MissingFile")
        assert content(await client.call_tool("cobre_list_runs", {}))["runs"] == []

    with nothing_opened_outside(place):
        talk(server, conversation)
    assert everything(place) == before


@pytest.mark.parametrize("case", ["warm", "absolute_policy", "boundary", "absolute_boundary", "nul_policy"])
def test_settings_of_a_case_that_point_outside_are_refused(place, server, case):
    with nothing_opened_outside(place):
        refused = error(call(server, "cobre_run", {"case_dir": case, "wait_s": 0}))
    assert refused["kind"] == "NotAllowed"
    assert refused["context"]["field"].startswith("policy.")


@pytest.mark.parametrize("path", ["../../../outside/policy", "/etc"])
def test_overrides_that_point_outside_are_refused(place, server, path):
    overrides = {"policy": {"mode": "warm_start", "path": path}}
    arguments = {"case_dir": "case", "config_overrides": overrides, "wait_s": 0}
    with nothing_opened_outside(place):
        assert error(call(server, "cobre_run", arguments))["kind"] == "NotAllowed"


@pytest.mark.parametrize(
    "file", ["../x.csv", "/tmp/x.csv", "link/x.csv", "case/config.json", "case/x.html", "fifo/x.csv"]
)
def test_exports_stay_in_allowed_folders_and_replace_only_exports(place, folder, file):
    server = server_of(folder, place / "root")
    file = f"root/{file}" if not file.startswith("/") else file
    name = f"{folder.name}/case"
    before = everything(place), (place / "root/case/config.json").read_bytes()
    arguments = {"output_dir": name, "format": "csv", "entity_type": "hydros", "file": file}
    report = {
        "output_dir": name,
        "file": file.replace(".csv", ".html") if ".csv" in file else "root/case/x.csv",
    }

    async def conversation(client):
        for tool, given in (
            ("cobre_export_results", arguments),
            ("cobre_report", report),
            ("cobre_report", {"output_dir": name, "compare": "root/link"}),
            ("cobre_compare_runs", {"run_a": name, "run_b": "root/link"}),
            ("cobre_compare_policies", {"policy_dirs": [name, "root/link"]}),
        ):
            assert error(await client.call_tool(tool, given))["kind"] == "NotAllowed"

    with nothing_opened_outside(place):
        talk(server, conversation)
    assert (everything(place), (place / "root/case/config.json").read_bytes()) == before


WRONG = [
    ("cobre_validate", {}),
    ("cobre_validate", {"case_dir": 7}),
    ("cobre_validate", {"case_dir": None}),
    ("cobre_validate", {"case_dir": ["case"]}),
    ("cobre_validate", {"case_dir": "case", "limit": 10**9}),
    ("cobre_validate", {"case_dir": "case", "surprise": 1}),
    ("cobre_validate", {"case_dir": "case", "config_overrides": "not an object"}),
    ("cobre_validate", {"case_dir": "case", "__class__": "x"}),
    ("cobre_run", {"case_dir": "case", "workers": 0}),
    ("cobre_run", {"case_dir": "case", "workers": 10_000}),
    ("cobre_run", {"case_dir": "case", "workers": "4; rm -rf /"}),
    ("cobre_run", {"case_dir": "case", "phases": "everything"}),
    ("cobre_run", {"case_dir": "case", "wait_s": 1e9}),
    ("cobre_run", {"case_dir": "case", "wait_s": -1}),
    ("cobre_run", {"case_dir": "case", "wait_s": float("nan")}),
    ("cobre_run", {"case_dir": "case", "overwrite": True, "resume": True}),
    ("cobre_run", {"case_dir": "case", "config_overrides": {"training": {"nonsense": 1}}}),
    ("cobre_run", {"case_dir": "--help"}),
    ("cobre_run_status", {"run_id": "0" * 16}),
    ("cobre_run_status", {"run_id": "../../etc/passwd"}),
    ("cobre_stop_run", {"run_id": "1"}),
    ("cobre_stop_run", {"run_id": -1}),
    ("cobre_query_results", {"output_dir": "case", "entity_type": "passwords"}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "hydros", "cursor": "!!"}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "hydros", "cursor": "cm93IC01"}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "hydros", "filters": {"limit": 0}}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "hydros", "filters": {"limit": 10**7}}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "hydros", "filters": {"stage_range": [1]}}),
    (
        "cobre_query_results",
        {"output_dir": "done", "entity_type": "hydros", "filters": {"columns": ["x'--"]}},
    ),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "buses", "aggregate": {"column": "../x"}}),
    (
        "cobre_query_results",
        {"output_dir": "done", "entity_type": "buses", "aggregate": {"column": "spot_price"}},
    ),
    (
        "cobre_query_results",
        {
            "output_dir": "done",
            "entity_type": "buses",
            "aggregate": {"column": "spot_price", "by": ["bus"], "quantiles": [7.0]},
        },
    ),
    (
        "cobre_query_results",
        {"output_dir": "done", "entity_type": "hydros", "filters": {"stage_range": [0, 10**30]}},
    ),
    (
        "cobre_query_results",
        {"output_dir": "done", "entity_type": "hydros", "filters": {"stage_range": [3, 1]}},
    ),
    ("cobre_query_convergence", {"output_dir": "done", "iteration_range": [2, 1]}),
    ("cobre_query_results", {"output_dir": "done", "entity_type": "\ud800"}),
    ("cobre_query_results", {"output_dir": ["done"], "entity_type": "hydros"}),
    ("cobre_run", {"case_dir": "case", "wait_s": float("nan")}),
    ("cobre_run", {"case_dir": "case", "workers": True}),
    ("cobre_run", {"case_dir": "case", "workers": 0}),
    ("cobre_run", {"case_dir": "case", "phases": "both; rm -rf ."}),
    ("cobre_run", {"case_dir": "case", "config_overrides": {"__class__": {"__init__": 1}}}),
    ("cobre_run", {"case_dir": "case", "config_overrides": {"training": {"forward_passes": -1}}}),
    ("cobre_run", {"case_dir": "case", "overwrite": True, "resume": True}),
    ("cobre_compare_runs", {"run_a": "case/output", "run_b": "case/output/training/metadata.json"}),
    ("cobre_report", {"output_dir": "done", "file": "page.html\n.txt"}),
    ("cobre_inspect_policy", {"policy_dir": "done", "stage": 10**6}),
    ("cobre_evaluate_policy", {"policy_dir": "done", "stage": 0, "states": []}),
    ("cobre_evaluate_policy", {"policy_dir": "done", "stage": 0, "states": [{}] * 1000}),
    ("cobre_evaluate_policy", {"policy_dir": "done", "stage": 0, "states": [{"storage_hm3": {"x": 1.0}}]}),
    (
        "cobre_evaluate_policy",
        {"policy_dir": "done", "stage": 0, "states": [{"storage_hm3": {"0": float("inf")}}]},
    ),
    ("cobre_compare_policies", {"policy_dirs": ["done"]}),
    ("cobre_compare_policies", {"policy_dirs": ["done"] * 100}),
    ("cobre_compare_policies", {"policy_dirs": ["done", "done"], "metrics": ["x"]}),
    ("cobre_export_results", {"output_dir": "done", "format": "exe", "entity_type": "hydros"}),
    ("cobre_explain_error", {"kind": "../../x"}),
    ("cobre_explain_error", {"kind": "x" * 1000}),
]


def test_wrong_arguments_and_unknown_names_are_refused_with_a_structured_error(folder):
    names = {"case": "case", "done": "case/output"}

    def renamed(arguments):
        return {
            key: names.get(value, value) if isinstance(value, str) and key.endswith("_dir") else value
            for key, value in arguments.items()
        }

    async def conversation(client):
        for name, arguments in WRONG:
            arguments = renamed(arguments)
            if isinstance(arguments.get("policy_dirs"), list):
                arguments["policy_dirs"] = [names[each] for each in arguments["policy_dirs"]]
            found = error(await client.call_tool(name, arguments))
            assert found["message"], (name, arguments)
            assert "could not use what it found" not in found["message"], (name, arguments)
        unknown = await client.call_tool("cobre_shell", {"command": "ls"})
        assert unknown.is_error
        assert content(await client.call_tool("cobre_list_runs", {}))["runs"] == []
        for uri in (
            "file:///etc/passwd",
            "cobre://",
            "cobre://case//config",
            "cobre://case/case/entities/secrets",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        for prompt, given in (("unknown", {}), ("compare-runs", {}), ("setup-study", {"x": "y"})):
            with pytest.raises(MCPError):
                await client.get_prompt(prompt, given)

    talk(server_of(folder, max_calls_per_minute=10_000), conversation)


@pytest.mark.parametrize(
    ("arguments", "field", "says"),
    [
        ({"stage": 3}, "stage", "output_dir, entity_type, filters, aggregate, cursor"),
        (
            {"filters": {"stage": 3}},
            "filters.stage",
            "entity_id, stage_range, scenario_range, columns, limit",
        ),
        ({"aggregate": {"column": "a", "quantile": 0.5}}, "aggregate.quantile", "column, by, quantiles"),
        ({"entity_type": "hydro"}, "entity_type", "'stage_summary'"),
        ({"filters": {"stage_range": [3, 1]}}, "filters.stage_range", "must not be greater"),
    ],
)
def test_a_wrong_argument_is_answered_with_those_that_are_right(folder, arguments, field, says):
    given = {"output_dir": "case/output", "entity_type": "hydros", **arguments}
    found = error(call(server_of(folder), "cobre_query_results", given))
    assert [each["field"] for each in found["errors"]] == [field]
    assert says in found["errors"][0]["message"]


def test_an_unknown_column_of_an_aggregate_is_answered_with_the_columns(folder):
    given = {"output_dir": "case/output", "entity_type": "buses", "aggregate": {"column": "price"}}
    assert "spot_price" in error(call(server_of(folder), "cobre_query_results", given))["suggestion"]


def test_huge_and_deep_arguments_are_refused(folder):
    deep: dict = {}
    for _ in range(200):
        deep = {"a": deep}

    async def conversation(client):
        wide = {f"field{number}": "x" * 100 for number in range(20_000)}
        for arguments in (
            {"case_dir": "x" * 3_000_000},
            {"case_dir": "case", "config_overrides": wide},
            {"case_dir": "case", "config_overrides": deep},
        ):
            result = await client.call_tool("cobre_validate", arguments)
            assert len(result.content[0].text) < 60_000
            if not result.is_error:
                assert not content(result)["valid"]

    talk(server_of(folder), conversation)


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 900 + "1" + "}" * 900, '{"a": NaN}', "\x00", '"x"'])
def test_instructions_in_names_and_settings_are_returned_as_data(tmp_path, text):
    folder = tmp_path.resolve()
    case = write_small_case(folder / "case", iterations=1)
    (case / "config.json").write_text(text)

    async def conversation(client):
        assert not content(await client.call_tool("cobre_validate", {"case_dir": "case"}))["valid"]
        error(await client.call_tool("cobre_run", {"case_dir": "case"}))
        try:
            return (await client.read_resource("cobre://case/case/config")).contents[0].text
        except MCPError as refused:
            return str(refused)

    told = talk(server_of(folder), conversation)
    assert "Error creating" not in told  # what the SDK says of a crash


DAMAGED = [
    ("training/metadata.json", "iterations", ["x"]),
    ("training/metadata.json", "termination_reason", {"a": 1}),
    ("training/metadata.json", "bounds", None),
    ("simulation/metadata.json", "costs", 7),
]


def test_forged_results_are_refused_with_a_structured_error(tmp_path, folder):
    root = tmp_path.resolve()
    shutil.copytree(folder / "less", root / "less")
    broken = root / "less/simulation/hydros/scenario_id=0000/data.parquet"
    calls = [
        ("cobre_query_convergence", {"output_dir": "less"}),
        ("cobre_compare_policies", {"policy_dirs": ["less", "less"]}),
        ("cobre_compare_runs", {"run_a": "less", "run_b": "less"}),
        ("cobre_query_results", {"output_dir": "less", "entity_type": "hydros"}),
    ]

    async def look(client):
        errors = 0
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert str(root) not in result.content[0].text
            if result.is_error:
                errors += 1
                error(result)
        try:
            await client.read_resource("cobre://output/less/convergence")
        except MCPError as refused:
            json.loads(str(refused).splitlines()[-1])
        return errors

    async def conversation(client):
        errors = 0
        for file, key, value in DAMAGED:
            path = root / "less" / file
            kept = path.read_bytes()
            path.write_text(json.dumps({**json.loads(kept), key: value}))
            errors += await look(client)
            path.write_bytes(kept)
        data = bytearray(broken.read_bytes())
        data[100] ^= 0xFF
        data[-20] ^= 0xFF
        broken.write_bytes(data)
        return errors + await look(client)

    assert talk(server_of(root), conversation) >= 2


def test_texts_and_folder_names_in_answers_are_short_and_printable(tmp_path, folder):
    root = tmp_path.resolve()
    shutil.copytree(folder / "less", root / "less")
    path = root / "less/training/metadata.json"
    told = "IGNORE\x1b[2J ALL\u202e" + "x" * 5000
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "termination_reason": told}))
    odd = root / "odd\nIGNORE \x1b[2J"
    (odd / "inner").mkdir(parents=True)
    (root / "less").rename(odd / "less")
    (root / "plain").symlink_to(odd)
    (root / "less").symlink_to("plain/less")

    async def conversation(client):
        uris = [each.uri for each in (await client.list_resources()).resources]
        assert not [uri for uri in uris if "%1B" in uri]
        refused = error(await client.call_tool("cobre_query_convergence", {"output_dir": "plain/less"}))
        assert refused["kind"] == "NotAllowed"
        (root / "less").unlink()
        (odd / "less").rename(root / "less")
        result = await client.call_tool("cobre_query_convergence", {"output_dir": "less"})
        reason = content(result)["termination_reason"]
        assert reason.isprintable()
        assert reason.startswith("IGNORE")
        assert len(reason) <= 2000

    talk(server_of(root), conversation)


CONFINED = """
import os, sys
from pathlib import Path
from cobre.mcp.confinement import confine
root, outside = Path(sys.argv[1]), Path(sys.argv[2])
confine([root], may_write=sys.argv[3] == "write")
def attempt(work):
    try:
        work()
        return "done"
    except OSError as error:
        return type(error).__name__
import subprocess
words = [sys.executable, "-c", f"open({str(outside / 'secret')!r}).read()"]
print(
    attempt(lambda: (root / "inside").read_text()),
    attempt(lambda: (outside / "secret").read_text()),
    attempt(lambda: (root / "link").read_text()),
    attempt(lambda: (outside / "new").write_text("x")),
    attempt(lambda: (root / "new").write_text("x")),
    attempt(lambda: os.listdir(outside)),
    "done" if subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0 else "PermissionError",
)
"""


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("mode", ["read", "write"])
def test_the_kernel_refuses_files_outside_to_the_server_and_its_children(tmp_path, mode):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "inside").write_text("inside")
    (outside / "secret").write_text(SECRET)
    (root / "link").symlink_to(outside / "secret")
    words = [sys.executable, "-c", CONFINED, str(root), str(outside), mode]
    printed = run_command(words, check=True).stdout.split()
    refused = "PermissionError"
    written = "done" if mode == "write" else refused
    assert printed == ["done", refused, refused, refused, written, refused, refused]


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
def test_swapping_a_link_during_the_check_reveals_nothing_outside(tmp_path):
    folder = tmp_path.resolve()
    root = folder / "root"
    case = write_small_case(root / "case", iterations=1)
    (folder / "secret.json").write_text(json.dumps({"training": {"secret": SECRET}}))
    config, kept = case / "config.json", case / "kept.json"
    config.rename(kept)
    is_over, choose = threading.Event(), random.Random(7)

    def swap():
        number = 0
        while not is_over.is_set():
            for target in (kept, folder / "secret.json"):
                link = case / f"link{number % 2}"
                number += 1
                link.symlink_to(target)
                link.rename(config)
                time.sleep(choose.random() * 0.002)

    async def conversation(client):
        found = []
        for _ in range(5):
            found.append(str(await client.call_tool("cobre_validate", {"case_dir": "case"})))
            try:
                found.append(str(await client.read_resource("cobre://case/case/config")))
            except MCPError as refused:
                found.append(str(refused))
        return found

    config.symlink_to(kept)
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        found = talk(quiet_stdio("--allowed-dirs", root, "--confine", "require"), conversation)
    finally:
        is_over.set()
        thread.join()
    assert len(found) == 10
    assert SECRET not in "".join(found)


def test_a_client_that_disconnects_leaves_no_process_or_file(tmp_path):
    folder = tmp_path.resolve()
    write_small_case(folder / "case", iterations=1_000_000)

    async def conversation(client):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "cobre_run", {"case_dir": "case", "wait_s": PATIENT})
            with anyio.fail_after(200):
                while not (folder / "case/output/training/run.json").exists():
                    await anyio.sleep(0.05)
            group.cancel_scope.cancel()  # and the connection is closed with it

    talk(quiet_stdio("--allowed-dirs", folder, "--allow-write"), conversation)
