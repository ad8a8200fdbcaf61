"""Hosts as users write them: names, addresses of both families, v6 addresses in brackets."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

__all__ = ["everywhere_for", "host_problems", "is_loopback", "unbracketed"]


def is_loopback(host: str) -> bool:
    """Whether ``host`` is certainly this machine: a loopback address, or ``localhost``."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(unbracketed(host)).is_loopback
    except ValueError:
        return False


def unbracketed(host: str) -> str:
    """The v6 address in ``[…]``, and anything else as it is."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def everywhere_for(coordinator: str) -> str | None:
    """What stands for all addresses where a rank may look that was given this one.

    ``None``: those of both families, because only the resolvers of the ranks can tell which one a name is in.
    """
    try:
        return "0.0.0.0" if ip_address(coordinator).version == 4 else "::"  # noqa: S104
    except ValueError:
        return None


def host_problems(name: str, host: Any) -> list[str]:
    """What is wrong with ``host``, called ``name``."""
    if not isinstance(host, str) or not host.strip() or not host.isprintable():
        return [f"{name}={host!r} is no host name or address"]
    if "[" in host or "]" in host:
        inner = unbracketed(host)
        return (
            []
            if ":" in inner and is_taken(ip_address, inner)
            else [f"{name}={host!r} is no v6 address in brackets"]
        )
    if ":" in host and not is_taken(ip_address, host):
        return [f"{name}={host!r} is no host name or address; a port goes into port="]
    return []


def is_taken(parse: Callable[[str], object], text: str) -> bool:
    """Whether ``parse`` takes the text without a ValueError."""
    try:
        parse(text)
    except ValueError:
        return False
    return True
