"""Streamable HTTP: which clients may connect, and from where."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings

from cobre.errors import CobreError

__all__ = [
    "OneToken",
    "WholeAddresses",
    "auth_settings",
    "check_address",
    "listening_sockets",
    "read_token",
    "transport_security",
]

SHORTEST_TOKEN = 16
LONGEST_TOKEN = 4096
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ADDRESS = re.compile(rb"([A-Za-z][A-Za-z0-9+.-]*://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
MISDIRECTED, FORBIDDEN = 421, 403


class OneToken:
    """Accepts one bearer token; how long the comparison takes tells nothing about it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who calls; None for a wrong token."""
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token="-", client_id="holder-of-the-token", scopes=[])  # noqa: S106 - no secret


def read_token(path: Path) -> str:
    """The token in a file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise CobreError(
            f"cannot read the token file {path}: {error.strerror}",
            kind="MissingFile",
            suggestion=f"make one: (umask 077; openssl rand -hex 32 > {path})",
        ) from error
    try:
        found = os.fstat(descriptor)
        is_file = stat.S_ISREG(found.st_mode)
        data = os.read(descriptor, LONGEST_TOKEN + 1) if is_file else b""
    finally:
        os.close(descriptor)
    if not is_file:
        raise CobreError(f"the token file {path} is not a file", suggestion="name a file with a token")
    if found.st_mode & 0o077 or found.st_uid not in (os.getuid(), 0):
        raise CobreError(
            f"others may read or change the token file {path}",
            suggestion=f"keep it to yourself: chmod 600 {path}",
        )
    token = data.decode(errors="replace").strip()
    is_plain = token.isascii() and token.isprintable() and " " not in token
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN or not is_plain:
        raise CobreError(
            f"the token has {len(token)} characters, and {SHORTEST_TOKEN} to {LONGEST_TOKEN} of ASCII without spaces "
            "are needed",
            suggestion=f"make another one: (umask 077; openssl rand -hex 32 > {path})",
        )
    return token


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, has_token: bool) -> None:
    """Raise for an address that others reach without a token."""
    if not is_loopback(host) and not has_token:
        raise CobreError(
            f"everybody who reaches {host} could use this server",
            suggestion="use --host 127.0.0.1, or set a token with --token-file; TLS is the task of a proxy in front",
        )


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Bound to all addresses of ``host``."""
    found: list[socket.socket] = []
    try:
        for family, kind, protocol, _, place in socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            each = socket.socket(family, kind, protocol)
            found.append(each)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(place)
    except OSError as error:
        for each in found:
            each.close()
        raise CobreError(
            f"cannot listen on port {port} of {host}: {error.strerror}",
            suggestion="name another port with --port, such as 0 for any free one, or another address with --host",
        ) from error
    return found


def transport_security(host: str, others: Sequence[str]) -> TransportSecuritySettings:
    """Host and Origin headers that are accepted: a web page that had a name point here (DNS rebinding) is refused."""
    names = [*LOOPBACK, *others]
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        names.append(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    hosts = [form for name in dict.fromkeys(names) for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{each}" for each in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


class WholeAddresses:
    """Refuses Host and Origin headers that go on after the port, or come twice: the SDK compares how one begins."""

    REFUSALS = ((b"host", MISDIRECTED), (b"origin", FORBIDDEN))

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """An ASGI application."""
        for name, status in self.REFUSALS if scope["type"] == "http" else ():
            values = [value for key, value in scope["headers"] if key == name]
            if len(values) > 1 or not all(ADDRESS.fullmatch(value) for value in values):
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


def auth_settings() -> AuthSettings:
    """A token that the user hands over needs no authorization server; the SDK asks for the address of one."""
    values: dict[str, Any] = {"issuer_url": "https://localhost", "resource_server_url": None}
    return AuthSettings(**values)
