"""Lines on standard input that are no messages: their sender gets an error, and the server goes on."""

from __future__ import annotations

import json
import os
import subprocess
import threading

import mcp_types
import pydantic
import pytest

from agents.served import COMMAND, INITIALIZE, assert_given_up_once_closed
from cobre.mcp import standard_input
from cobre.mcp.malformed import answer_to
from cobre.mcp.standard_input import LONGEST_LINE

pytestmark = pytest.mark.timeout(300)

LINES = [
    ("nonsense", -32700, None),
    ('{"a":' * 3000, -32700, None),
    ("[]", -32600, None),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    ("7", -32600, None),
    ('{"jsonrpc":"2.0","id":"c","method":"tools/call","params":[]}', -32600, "c"),
    ('{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5),
    ('{"id":5,"method":"ping"}', -32600, 5),
    ('{"jsonrpc":"2.0","id":{},"method":7}', -32600, None),
]
NO_ANSWER = [
    "",
    "  ",
    '{"jsonrpc":"2.0","method":"x","params":7}',
    '{"jsonrpc":"2.0","id":7,"result":5}',
    '{"jsonrpc":"2.0","id":7,"error":"x"}',
]


def answered(line):
    with pytest.raises(pydantic.ValidationError) as refused:
        mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return answer_to(refused.value)


@pytest.mark.parametrize(("line", "code", "name"), LINES)
def test_a_line_that_is_no_message_is_answered(line, code, name):
    answer = answered(line)
    assert (answer.error.code, answer.id) == (code, name)
    assert len(answer.error.message) < 200


@pytest.mark.parametrize("line", NO_ANSWER)
def test_what_json_rpc_does_not_answer_is_not_answered(line):
    assert answered(line) is None


def test_the_server_goes_on_after_lines_that_are_no_messages(tmp_path):
    last = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    too_long = '{"jsonrpc":"2.0","id":9,"method":"' + "x" * LONGEST_LINE + '"}'
    half = len(LINES) // 2
    lines = [line for line, _, _ in LINES]
    sent = [*lines[:half], *NO_ANSWER, json.dumps(INITIALIZE), *lines[half:], too_long, json.dumps(last)]
    words = [COMMAND, "--allowed-dirs", str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        writer = threading.Thread(
            target=lambda: (server.stdin.write("\n".join(sent) + "\n"), server.stdin.flush())
        )
        writer.start()
        answers = [json.loads(server.stdout.readline()) for _ in range(len(LINES) + 3)]
        writer.join()
        assert server.communicate(timeout=200) == ("", None)
    assert server.returncode == 0
    expected = [(name, code) for _, code, name in LINES]
    expected[half:half] = [(1, None)]
    expected += [(None, -32700), (2, None)]
    assert [(each["id"], each.get("error", {}).get("code")) for each in answers] == expected


def test_a_host_that_closes_its_end_of_the_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(standard_input, "END_GRACE_S", 0.05)
    reader, writer = os.pipe()
    unread, answers = os.pipe()
    assert_given_up_once_closed(reader, answers, unread)
    for each in (reader, writer, answers):
        os.close(each)
