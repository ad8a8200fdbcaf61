"""Serving: over standard input and output for a host that starts the server, or over HTTP."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from cobre._lazy import collecting_garbage_later
from cobre.errors import CobreError
from cobre.mcp.confinement import confine, landlock_version, private_folders
from cobre.mcp.server import CobreServer
from cobre.mcp.service import Service
from cobre.mcp.settings import Settings

if TYPE_CHECKING:
    import socket

    from cobre.mcp.oauth import Issuer

__all__ = ["Address", "serve"]

GRACE_S = 5
"""For requests that are under way when an HTTP server ends."""
MOST_SESSIONS, SESSION_S = 1000, 600.0
"""Clients of the older protocol that the SDK keeps in mind, each until it was idle for so long."""
SIGNAL_BASE = 128


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    port: int = 3000
    token_file: Path | None = None
    allowed_hosts: Sequence[str] = ()
    issuer: Issuer | None = None
    """In place of a token file: who makes the tokens."""


def serve(settings: Settings, address: Address) -> int:
    """Serve until the host closes standard input, or a signal comes; the exit status."""
    # A run must not import modules from the folder in which agents work; neither must this process.
    os.environ["PYTHONSAFEPATH"] = "1"
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", str(Path.cwd())):
        del sys.path[0]
    service = Service(settings)
    with collecting_garbage_later():
        server = _http_server(service, address) if address.transport == "http" else CobreServer(service)
    gc.freeze()  # what the imports made is no garbage: collections need not look at it again
    _confine(service)
    try:
        if address.transport == "http":
            return _serve_http(server, address)
        return _serve_stdio(server, service)
    finally:
        service.runs.close()


def _confine(service: Service) -> None:
    settings = service.settings
    if settings.confinement == "off":
        return
    if settings.confinement == "auto" and not landlock_version():
        _say("this kernel has no Landlock: paths are checked, but not by the kernel as well")
        return
    places = list(private_folders())
    if places:
        os.environ["TMPDIR"] = places[-1]
    confine(service.roots.folders, may_write=settings.allow_write)


def _serve_stdio(server: CobreServer, service: Service) -> int:
    from cobre.mcp.standard_input import limit_lines

    def end(number: int, frame: FrameType | None) -> None:
        # A thread waits for standard input and cannot be woken, so that the process ends here. Guards stop the runs.
        service.runs.close()
        os._exit(SIGNAL_BASE + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    if sys.stdin.isatty():
        _say("waiting for a host on standard input; see cobre mcp --help")

    def give_up() -> None:
        service.runs.close()
        os._exit(0)

    limit_lines(give_up)
    try:
        server.run("stdio")
    except BrokenPipeError:
        pass  # the host has gone
    except BaseExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
    return 0


def _http_server(service: Service, address: Address) -> CobreServer:
    from cobre.mcp.http import OneToken, auth_settings, check_address, read_token

    check_address(address.host, address.token_file is not None or address.issuer is not None)
    if address.issuer is not None:
        from cobre.mcp.oauth import SignedTokens, issuer_settings, read_keys

        auth = issuer_settings(address.issuer)
        verifier = SignedTokens(address.issuer, read_keys(address.issuer.keys_file))
        return CobreServer(service, auth=auth, token_verifier=verifier)
    if address.token_file is None:
        return CobreServer(service)
    token = read_token(address.token_file)
    return CobreServer(service, auth=auth_settings(), token_verifier=OneToken(token))


def _serve_http(server: CobreServer, address: Address) -> int:
    import uvicorn

    from cobre.mcp.connections import TimedConnection
    from cobre.mcp.http import WholeAddresses, listening_sockets, transport_security

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(SIGNAL_BASE + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)  # uvicorn sends them again when it has closed its connections
    sockets = listening_sockets(address.host, address.port)
    app = server.streamable_http_app(
        transport_security=transport_security(address.host, address.allowed_hosts),
        host=address.host,
        max_sessions=MOST_SESSIONS,
        session_idle_timeout=SESSION_S,
    )
    config = uvicorn.Config(
        WholeAddresses(app),
        http=TimedConnection,
        host=address.host,
        port=address.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        limit_concurrency=200,
        h11_max_incomplete_event_size=64 * 1024,
    )
    runner = _Announced(config, address)
    runner.run(sockets)
    return 0 if runner.started else CobreError.exit_status


class _Announced:
    """A uvicorn server that says where it listens."""

    def __init__(self, config: Any, address: Address) -> None:
        import uvicorn

        class Server(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                for each in self.servers:
                    for found in each.sockets:
                        host = f"[{address.host}]" if ":" in address.host else address.host
                        _say(f"listening on http://{host}:{found.getsockname()[1]}/mcp")

        self._server = Server(config)

    def run(self, sockets: list[socket.socket]) -> None:
        """Until a signal comes."""
        self._server.run(sockets)

    @property
    def started(self) -> bool:
        """Whether the port could be had."""
        return bool(self._server.started)


def _say(text: str) -> None:
    """On standard error: standard output is the wire."""
    sys.stderr.write(f"cobre mcp: {text}\n")
    sys.stderr.flush()


logging.getLogger("mcp").setLevel(logging.WARNING)
