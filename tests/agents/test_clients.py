"""Clients of others: one written with the SDK for JavaScript, and the official inspector. `make test-mcp-clients`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agents.served import COMMAND, write_study
from commands import run_command

MODULES = os.environ.get("COBRE_TEST_MCP_CLIENTS")
CLIENT = Path(__file__).with_name("client.mjs")
DEADLINE_S = 500

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not MODULES or shutil.which("node") is None, reason="needs the npm packages of make test-mcp-clients"
    ),
]


@pytest.fixture
def own(tmp_path):
    return write_study(tmp_path.resolve())


def ran(words):
    found = run_command(words, timeout=DEADLINE_S)
    assert found.returncode == 0, found.stderr + found.stdout
    return json.loads(found.stdout)


def check(found):
    assert found["failed"] == []
    assert len(found["tools"]) == 17
    assert len(found["templates"]) == 7
    assert len(found["prompts"]) == 4
    assert len(found["resources"]) >= 7
    assert found["progress"] == sorted(set(found["progress"]))


def test_a_client_in_javascript_uses_everything_over_stdio(own):
    check(ran(["node", CLIENT, MODULES, COMMAND, "--allowed-dirs", str(own), "--allow-write"]))


def test_a_client_in_javascript_uses_everything_over_http(own):
    from agents.test_http import Serving

    serving = Serving("--allowed-dirs", own, "--allow-write")
    try:
        check(ran(["node", CLIENT, MODULES, serving.url]))
    finally:
        serving.end()


@pytest.mark.parametrize(
    ("method", "key", "count"),
    [
        ("tools/list", "tools", 17),
        ("resources/list", "resources", 7),
        ("resources/templates/list", "resourceTemplates", 7),
        ("prompts/list", "prompts", 4),
    ],
)
def test_the_inspector_lists_everything(own, method, key, count):
    inspector = str(Path(MODULES) / ".bin" / "mcp-inspector")
    words = [inspector, "--cli", COMMAND, "--allowed-dirs", str(own), "--allow-write", "--method", method]
    assert len(ran(words)[key]) >= count


def test_the_inspector_calls_a_tool(own):
    inspector = str(Path(MODULES) / ".bin" / "mcp-inspector")
    words = [inspector, "--cli", COMMAND, "--allowed-dirs", str(own), "--method", "tools/call"]
    found = ran([*words, "--tool-name", "cobre_validate", "--tool-arg", "case_dir=case"])
    assert found["structuredContent"]["valid"] is True
