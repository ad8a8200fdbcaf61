"""Servers for agents, and clients that talk to them."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import jsonschema
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cobre import study
from cobre.mcp import standard_input
from cobre.mcp.server import CobreServer
from cobre.mcp.service import Service
from cobre.mcp.settings import Settings
from small_case import write_small_case

COMMAND = str(Path(sys.executable).with_name("cobre-mcp"))
DEADLINE_S = 280
PATIENT = 55
"""The longest that one call may wait for a run."""
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}


def write_study(folder):
    """A case ``case`` with results in ``case/output``; ``less`` has those of fewer iterations."""
    case = write_small_case(folder / "case", iterations=4, scenarios=3)
    plan = study.RunPlan()
    study.run_case(study.load_case(case), plan, output=case / "output")
    fewer = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    study.run_case(study.load_case(case, fewer), plan, output=folder / "less")
    return folder


def server_of(folder, *more, **settings):
    """A server in this process, without the kernel's confinement, which could not be undone."""
    settings = {"allow_write": True, "min_free_mb": 0, "confinement": "off", **settings}
    return CobreServer(Service(Settings(folders=(folder, *more), **settings)))


def talk(server, conversation, **options):
    """What ``conversation(client)`` returns; ``server`` is one of `server_of`, an address, or a transport."""

    async def main():
        with anyio.fail_after(DEADLINE_S):
            async with Client(server, **options) as client:
                return await conversation(client)

    try:
        return anyio.run(main)
    finally:
        if isinstance(server, CobreServer):
            server.service.runs.close()


def assert_given_up_once_closed(reader, answers, end):
    """That a server reading ``reader`` and writing ``answers`` stays until its host closes this end of one of them."""
    has_given_up = threading.Event()
    words = (reader, answers, has_given_up.set)
    thread = threading.Thread(target=standard_input._give_up_late, args=words)
    thread.start()
    assert not has_given_up.wait(0.3)  # the host is there
    os.close(end)
    assert has_given_up.wait(60)
    thread.join()


def call(server, tool, arguments, **options):
    """The result of one call."""
    return talk(server, lambda client: client.call_tool(tool, arguments), **options)


def content(result):
    """Structured content of a call that succeeded; the text has the same."""
    text = result.content[0].text
    assert not result.is_error, text
    assert json.loads(text) == result.structured_content
    return result.structured_content


def error(result):
    """The error of a call that failed, as the last line of its text tells it."""
    assert result.is_error, result.structured_content
    document = json.loads(result.content[0].text.splitlines()[-1])
    assert {"type", "kind", "message", "context", "suggestion"} <= document.keys()
    return document


def checked(tools, name, result):
    """Structured content of a call, checked against the schema that the server listed."""
    found = content(result)
    schema = next(tool.output_schema for tool in tools if tool.name == name)
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


async def ended(client, facts):
    """The facts of a run when it has ended, however long that takes on a busy machine."""
    while facts["status"] in ("running", "stopping"):
        arguments = {"run_id": facts["run_id"], "wait_s": PATIENT}
        facts = content(await client.call_tool("cobre_run_status", arguments))
    return facts


@asynccontextmanager
async def quiet_stdio(*arguments, cwd=None, env=None):
    """A transport to ``cobre-mcp`` as a host starts it: with few variables, its messages to nobody."""
    parameters = StdioServerParameters(command=COMMAND, args=list(map(str, arguments)), cwd=cwd, env=env)
    with Path("/dev/null").open("w") as nobody:
        async with stdio_client(parameters, errlog=nobody) as streams:
            yield streams
