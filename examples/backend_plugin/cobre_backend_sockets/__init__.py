"""The ``sockets`` backend: ranks of one machine that connect through a Unix-domain socket."""

from __future__ import annotations

import math
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cobre.comm.backend import Backend, Detection, RankCommand
from cobre.comm.limits import read_limits
from cobre.errors import MissingConfiguration
from cobre_backend_sockets.communicator import SocketsCommunicator
from cobre_backend_sockets.config import LIMITS, SocketsConfig

__all__ = ["BACKEND", "SocketsCommunicator", "SocketsConfig"]

PATH, RANK, SIZE = NEEDED = ("COBRE_SOCKETS_PATH", "COBRE_SOCKETS_RANK", "COBRE_SOCKETS_SIZE")


def _detect(environ: Mapping[str, str]) -> Detection:
    if environ.get(PATH):
        return Detection(fits=True)
    is_begun = any(environ.get(name) for name in NEEDED)
    return Detection(fits=False, missing=_missing(environ) if is_begun else ())


def _configure(environ: Mapping[str, str]) -> SocketsConfig:
    missing = _missing(environ)
    if missing:
        raise MissingConfiguration("sockets", missing)
    return SocketsConfig(
        path=environ[PATH],
        rank=_number(int, environ[RANK]),
        size=_number(int, environ[SIZE]),
        connect_timeout=_number(float, environ.get("COBRE_SOCKETS_CONNECT_TIMEOUT_MS") or "30000", 0.001),
        timeout=_number(float, environ.get("COBRE_SOCKETS_TIMEOUT_SECS") or "60"),
        **read_limits("sockets", LIMITS, environ),
    )


def _missing(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in NEEDED if not environ.get(name))


def _number(convert: Callable[[str], Any], text: str, unit: float = 1) -> Any:
    """The number, or the text itself, which `SocketsConfig` then refuses together with everything else."""
    try:
        number = convert(text)
    except ValueError:
        return text
    return number * unit if math.isfinite(number) else text


def _rank_commands(argv: Sequence[str], size: int) -> list[RankCommand]:
    # A random name only: rank 0 makes the directory, so a launch that never happens leaves nothing. If
    # rank 0 is killed before all have met, the directory stays, and the launcher removes it.
    path = str(Path(tempfile.gettempdir()) / f"cobre-sockets-{secrets.token_hex(8)}")
    shared = {"COBRE_COMM_BACKEND": "sockets", PATH: path, SIZE: str(size)}
    return [RankCommand(tuple(argv), {**shared, RANK: str(rank)}, rank, (path,)) for rank in range(size)]


BACKEND = Backend(
    name="sockets",
    detect=_detect,
    rank_commands=_rank_commands,
    speed_limit="loopback",
    config_type=SocketsConfig,
    configure=_configure,
    open=SocketsCommunicator,
    limits=LIMITS,
)
