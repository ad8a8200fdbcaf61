"""Streamable HTTP: clients of newer and older protocols, tokens, and requests that a browser was made to send."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import time

import anyio
import pytest

from agents.served import COMMAND, INITIALIZE, PATIENT, content, ended, talk
from cobre.errors import CobreError
from cobre.mcp.http import check_address, is_loopback, read_token, transport_security
from cobre.mcp.oauth import Issuer, issuer_settings, read_keys
from commands import run_command
from small_case import write_small_case

TOKEN = "a-token-of-more-than-sixteen-characters"
pytestmark = pytest.mark.timeout(300)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Serving:
    """``cobre mcp --transport http`` on a free port."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [COMMAND, "--transport", "http", "--port", "0", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        assert found, line + self.process.stderr.read()
        self.port = int(found[1])
        self.url = found[0]

    def post(self, body=INITIALIZE, path="/mcp", **headers):
        """Status of a request with these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=200)
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request("POST", path, data, {**HEADERS, **named})
            return connection.getresponse().status
        finally:
            connection.close()

    def status(self, *headers):
        """Status of a request that has just these headers, also those that come twice."""
        lines = [*headers, *(f"{key}: {value}" for key, value in HEADERS.items()), "Connection: close"]
        body = json.dumps(INITIALIZE)
        text = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", body])
        with socket.create_connection(("127.0.0.1", self.port), timeout=200) as connection:
            connection.sendall(text.encode())
            return int(connection.makefile("rb").readline().split()[1])

    def end(self):
        self.process.terminate()
        rest = self.process.stderr.read()
        assert self.process.wait(200) == 143, rest
        self.process.stderr.close()


@pytest.fixture(scope="module")
def serving(tmp_path_factory, _mark_processes):
    folder = tmp_path_factory.mktemp("http").resolve()
    write_small_case(folder / "case", iterations=2, scenarios=2)
    served = Serving("--allowed-dirs", folder, "--allow-write")
    _mark_processes.expect()
    yield served
    served.end()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, _mark_processes):
    folder = tmp_path_factory.mktemp("guarded").resolve()
    token = folder / "token"
    token.touch(0o600)
    token.write_text(f"{TOKEN}\n")
    (folder / "cases").mkdir()
    served = Serving(
        "--allowed-dirs", folder / "cases", "--token-file", token, "--allowed-host", "plans.example"
    )
    _mark_processes.expect()
    yield served
    served.end()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_clients_of_both_protocols_run_a_case(serving, mode):
    told = []

    async def hear(progress, total, message):
        told.append(progress)

    async def conversation(client):
        assert len((await client.list_tools()).tools) == 17
        assert (await client.list_prompts()).prompts
        assert (await client.list_resources()).resources
        arguments = {"case_dir": "case", "overwrite": True, "wait_s": PATIENT}
        facts = content(await client.call_tool("cobre_run", arguments, progress_callback=hear))
        facts = await ended(client, facts)
        assert facts["status"] == "completed"

    talk(serving.url, conversation, mode=mode)
    assert told == sorted(set(told))


def test_two_clients_at_once_get_their_own_answers(serving):
    from mcp import Client

    async def ask(kind, found):
        async with Client(serving.url) as client:
            for _ in range(5):
                result = await client.call_tool("cobre_explain_error", {"kind": kind})
                found.append(content(result)["kind"] == kind)

    async def main():
        found = []
        with anyio.fail_after(280):
            async with anyio.create_task_group() as group:
                for kind in ("ParseError", "OutOfRange"):
                    group.start_soon(ask, kind, found)
        return found

    assert anyio.run(main) == [True] * 10


def test_unknown_host_and_origin_headers_are_refused(serving):
    assert serving.post() == 200
    assert serving.post(Host="localhost:3000") == 200
    for host in (
        "evil.example",
        f"evil.example:{serving.port}",
        "127.0.0.1.evil.example:80",
        "localhost.evil.example",
        "localhost:evil.example",
        "localhost:80@evil.example",
        f"127.0.0.1:{serving.port},evil.example",
    ):
        assert serving.post(Host=host) == 421
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1.evil.example",
        "file://",
        "https://localhost.evil",
        "http://localhost:80@evil.example",
        "http://localhost:evil.example",
    ):
        assert serving.post(Origin=origin) == 403
    assert serving.post(Origin=f"http://127.0.0.1:{serving.port}") == 200


def test_headers_that_come_twice_are_refused(serving):
    here, there = "Host: localhost", "Host: evil.example"
    assert serving.status(here) == 200
    assert serving.status(here, there) in (400, 421)
    assert serving.status(there, here) in (400, 421)
    origins = ["Origin: http://localhost", "Origin: https://evil.example"]
    assert serving.status(here, origins[0]) == 200
    assert serving.status(here, *origins) == 403
    assert serving.status(here, *reversed(origins)) == 403


def test_a_taken_port_is_an_error_with_a_remedy(serving, tmp_path):
    words = [COMMAND, "--transport", "http", "--port", str(serving.port), "--allowed-dirs", str(tmp_path)]
    found = run_command(words, stdin=subprocess.DEVNULL, timeout=200)
    assert found.returncode == 4
    assert f"port {serving.port}" in found.stderr
    assert "--port" in found.stderr
    assert "Traceback" not in found.stderr


def test_malformed_requests_are_refused(serving):
    assert serving.post(b"{") in (400, 422)
    assert serving.post(b"x" * (5 << 20)) == 413
    assert serving.post(Content_Type="text/plain") == 400
    assert serving.post(path="/other") == 404
    assert serving.post([[[[]]]]) in (400, 422)
    assert serving.post() == 200


def test_a_slow_reader_and_a_broken_connection_do_not_delay_other_clients(serving):
    sockets = []
    for _ in range(5):
        each = socket.create_connection(("127.0.0.1", serving.port))
        each.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        sockets.append(each)
    assert serving.post() == 200
    for each in sockets:
        each.close()
    assert serving.post() == 200


def test_a_token_is_needed_where_one_is_set(guarded):
    assert guarded.post() == 401
    for wrong in (
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer é",
    ):
        assert guarded.post(Authorization=wrong.encode()) == 401, wrong
    assert guarded.post(Authorization=f"Bearer {TOKEN}") == 200
    assert guarded.post(Authorization=f"Bearer {TOKEN}", Host="plans.example") == 200
    assert guarded.post(Authorization=f"Bearer {TOKEN}", Host="evil.example") == 421


RESOURCE, ISSUER = "https://plans.example/mcp", "https://login.example"


def signed(key, name="one", **claims):
    import jwt

    given = {"iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 600, "sub": "me", "scope": "plan", **claims}
    given = {key: value for key, value in given.items() if value is not None}
    return jwt.encode(given, key, algorithm="ES256", headers={"kid": name} if name else {})


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two private keys, and a file with the public one of the first."""
    import jwt
    from cryptography.hazmat.primitives.asymmetric import ec

    found = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    public = jwt.algorithms.ECAlgorithm.to_jwk(found[0].public_key(), as_dict=True)
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(json.dumps({"keys": [{**public, "kid": "one", "alg": "ES256", "use": "sig"}]}))
    return *found, path


def test_tokens_of_an_issuer_count_if_they_are_signed_for_this_server_and_not_too_old(tmp_path, keys):
    import jwt

    ours, other, path = keys
    words = [
        "--oauth-issuer",
        ISSUER,
        "--oauth-resource",
        RESOURCE,
        "--oauth-keys",
        path,
        "--oauth-scope",
        "plan",
    ]
    symmetric = jwt.encode(
        {"iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 600}, "s" * 40, "HS256", {"kid": "one"}
    )
    unsigned = jwt.encode({"iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 600}, None, "none")
    served = Serving("--allowed-dirs", tmp_path, *words)
    try:
        assert served.post(Authorization=f"Bearer {signed(ours)}") == 200
        assert served.post(Authorization=f"Bearer {signed(ours, None)}") == 200
        for wrong in (
            signed(other),
            signed(ours, "two"),
            signed(ours, exp=time.time() - 600),
            signed(ours, exp=None),
            signed(ours, aud="https://other.example/mcp"),
            signed(ours, aud=None),
            signed(ours, iss="https://evil.example"),
            signed(ours, nbf=time.time() + 600),
            signed(ours)[:-3] + "AAA",
            symmetric,
            unsigned,
            "x.y.z",
        ):
            assert served.post(Authorization=f"Bearer {wrong}") == 401, wrong
        assert served.post(Authorization=f"Bearer {signed(ours, scope='other')}") == 403
        assert served.post() == 401
        assert served.post(Authorization=f"Bearer {signed(ours)}", Host="evil.example") == 421
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=200)
        connection.request("GET", "/.well-known/oauth-protected-resource/mcp")
        told = json.loads(connection.getresponse().read())
        connection.close()
        assert told["resource"] == RESOURCE
        assert told["authorization_servers"] == [ISSUER]
    finally:
        served.end()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": []}', '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}']
)
def test_files_without_public_keys_are_refused(tmp_path, text):
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(CobreError, match=r"holds no|keys"):
        read_keys(path)


def test_key_files_writable_by_others_and_issuers_without_tls_are_refused(tmp_path, keys):
    path = tmp_path / "keys.json"
    path.write_text(keys[2].read_text())
    path.chmod(0o666)
    with pytest.raises(CobreError, match="others may change"):
        read_keys(path)
    with pytest.raises(CobreError, match="cannot read"):
        read_keys(tmp_path / "nothing")
    for issuer, resource in (("http://login.example", RESOURCE), (ISSUER, "plans.example/mcp")):
        with pytest.raises(CobreError, match="https"):
            issuer_settings(Issuer(issuer, resource, path))


def test_the_sdk_client_sends_the_token(guarded):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def main():
        from mcp import Client

        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as own,
            Client(streamable_http_client(guarded.url, http_client=own)) as client,
        ):
            return len((await client.list_tools()).tools)

    assert anyio.run(main) == 17


def test_non_loopback_addresses_need_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.4", "plans.example", "127.0.0.1.evil.example"):
        assert not is_loopback(host)
        with pytest.raises(CobreError, match="everybody"):
            check_address(host, False)
        check_address(host, True)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_address(host, False)
    assert "0.0.0.0" not in transport_security("0.0.0.0", ()).allowed_hosts


@pytest.mark.parametrize(
    ("mode", "text", "why"),
    [
        (0o644, TOKEN, "others"),
        (0o620, TOKEN, "others"),
        (0o600, "short", "characters"),
        (0o600, "", "characters"),
        (0o600, "two words of a token", "without spaces"),
    ],
)
def test_token_files_that_others_read_or_that_hold_no_token_are_refused(tmp_path, mode, text, why):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(CobreError, match=why):
        read_token(path)


def test_a_token_file_that_is_missing_or_a_folder_is_refused(tmp_path):
    with pytest.raises(CobreError, match="cannot read"):
        read_token(tmp_path / "nothing")
    with pytest.raises(CobreError, match="not a file"):
        read_token(tmp_path)
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(CobreError, match="not a file"):
        read_token(tmp_path / "fifo")


@pytest.mark.parametrize(
    "beginning", [b"", b"POST /mcp HT", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"]
)
def test_connections_on_which_no_request_arrives_are_closed(beginning):
    import uvicorn
    from uvicorn.server import ServerState

    from cobre.mcp.connections import TimedConnection

    class Impatient(TimedConnection):
        PATIENCE_S = 0.1

    async def answer_late(scope, receive, send):
        body = await receive()
        await anyio.sleep(0.5)  # a call that waits for a run
        if not body.get("more_body"):
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})
        else:
            await receive()

    async def main():
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(answer_late, lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        server = await loop.create_server(lambda: Impatient(config, state, {}), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        patient, silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        patient[1].write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        silent[1].write(beginning)
        async with asyncio.timeout(60):
            assert b"204" in await patient[0].readline()
            with contextlib.suppress(ConnectionResetError):
                assert await silent[0].read() == b""
        for _, writer in (patient, silent):
            writer.close()
        server.close()
        while state.connections:
            await anyio.sleep(0.01)

    asyncio.run(main())
