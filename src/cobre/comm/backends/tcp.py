"""The ``tcp`` backend: many machines without MPI, a star of connections around rank 0."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from cobre._native import comm as _core
from cobre.comm.backend import Backend, Detection, LaunchVariables, MeetingPoint, Nodes, RankCommand
from cobre.comm.closing import ClosesAfterUse
from cobre.comm.config import (
    TcpConfig,
    encoded_secret,
    is_zero,
    missing_if_begun,
    tcp_config_from,
)
from cobre.comm.hosts import everywhere_for, unbracketed
from cobre.comm.limits import read_limits
from cobre.comm.protocol import GroupMember, documented_by
from cobre.comm.regions import AlwaysLeader, HeapRegion, region_of_each

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from cobre.comm.closing import ClosesAfterUse
from cobre.comm.protocol import Communicator

__all__ = ["BACKEND", "TcpCommunicator"]

BELOW_EPHEMERAL = range(
    20_000, 32_768
)  # where Linux, unless told otherwise, begins with outgoing connections
LIMITS = {"piece_bytes": 1024 * 1024, "window_bytes": 512 * 1024, "keepalive_s": 10}

_log = logging.getLogger("cobre.comm")


@documented_by(GroupMember)
class TcpCommunicator(_core.TcpCommunicator, AlwaysLeader, ClosesAfterUse):
    """Ranks anywhere, connected to rank 0 over TCP.

    The collectives are the native ones, inherited: nothing stands between the caller and the core.
    """

    port: int | None = None
    """Where rank 0 listened; ``None`` on the other ranks."""

    @classmethod
    def connect(cls, config: TcpConfig, *, on_listening: Callable[[int], None] | None = None) -> Self:
        """Join the group that ``config`` describes; returns when all ranks are there.

        ``on_listening(port)`` is called on rank 0 once it listens, for a caller that asked for port 0 and must tell
        the others. Failure: `InitializationFailed`, at once for a refused secret, rank or size, else after
        ``connect_timeout``, naming who is missing and which connections were refused. Meanwhile rank 0 logs who joins
        and, as warnings, what it refuses.
        """
        limits = config.limits if isinstance(config, _TunedConfig) else LIMITS
        comm = cls(config.rank, config.size, config.timeout, **limits)
        if config.size == 1:
            return comm
        secret = encoded_secret(config.secret or "")
        meeting_at = (_host(config), config.port, secret, config.connect_timeout)
        try:
            if config.rank == 0:
                comm.port = comm.listen(*meeting_at)
                _log.info("rank 0 listens at %s", ", ".join(comm.listening_at))
                if on_listening is not None:
                    on_listening(comm.port)
                comm.gather(_log.log)
            else:
                comm.join(*meeting_at, _log.log)
        finally:
            comm.end_meeting()
        return comm

    @property
    def backend(self) -> str:
        return "tcp"

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> HeapRegion:
        """Every rank's own copy; if one rank cannot allocate it, all raise."""
        self.require_usable("create_shared_region")
        return region_of_each(count, dtype, self._without_memory)

    def _without_memory(self, count: int, dtype: np.dtype[Any], is_allocated: bool) -> list[int]:
        refusing = self.agree_on_region(min(count, 2**64 - 1), dtype, is_allocated)
        return [] if refusing < 0 else [refusing]

    def split_local(self) -> Communicator:
        """A communicator of this rank alone: nothing is shared between processes here."""
        self.split()
        from cobre.comm.selection import create_communicator  # backends refer to each other by name only

        return create_communicator("local")

    def __repr__(self) -> str:
        return f"TcpCommunicator(rank={self.rank}, size={self.size})"


@dataclass(frozen=True)
class _TunedConfig(TcpConfig):
    """What the environment describes, internal sizes included."""

    limits: Mapping[str, int] = field(default_factory=lambda: LIMITS)


def _host(config: TcpConfig) -> str:
    """Where rank 0 listens (``""``: at every address), or where the others look for it."""
    coordinator = unbracketed(config.coordinator)
    if config.rank != 0:
        return coordinator
    if config.bind_addr:
        return unbracketed(config.bind_addr)
    if config.secret:  # other programs cannot prove that they have it
        return everywhere_for(coordinator) or ""
    # Without a secret it is loopback; one of its other addresses (127.0.0.2) is where the others will look.
    return coordinator


def _detect(environ: Mapping[str, str]) -> Detection:
    if environ.get("COBRE_TCP_COORDINATOR"):
        return Detection(fits=True)
    is_first = is_zero(environ.get("COBRE_TCP_RANK", ""))
    if is_first and environ.get("COBRE_TCP_SIZE"):
        return Detection(fits=True)
    needed: tuple[str, ...] = ("COBRE_TCP_RANK", "COBRE_TCP_SIZE")
    if not is_first:
        needed = ("COBRE_TCP_COORDINATOR", *needed)
    return Detection(fits=False, missing=missing_if_begun("COBRE_TCP_", needed, environ))


def _configure(environ: Mapping[str, str]) -> TcpConfig:
    config = tcp_config_from(environ)
    settings: dict[str, Any] = {each.name: getattr(config, each.name) for each in fields(TcpConfig)}
    return _TunedConfig(**settings, limits=read_limits("tcp", LIMITS, environ))


def _rank_commands(argv: Sequence[str], size: int) -> list[RankCommand]:
    shared = {
        "COBRE_COMM_BACKEND": "tcp",
        "COBRE_TCP_COORDINATOR": "127.0.0.1",
        "COBRE_TCP_BIND_ADDR": "127.0.0.1",
        "COBRE_TCP_PORT": str(free_port()),
        "COBRE_TCP_SECRET": secrets.token_hex(16),
        "COBRE_TCP_SIZE": str(size),
    }
    return [RankCommand(tuple(argv), {**shared, "COBRE_TCP_RANK": str(rank)}, rank) for rank in range(size)]


def _node_variables(nodes: Nodes) -> dict[str, str]:
    return {
        "COBRE_COMM_BACKEND": "tcp",
        "COBRE_TCP_COORDINATOR": nodes.coordinator,
        "COBRE_TCP_SIZE": str(nodes.size),
    }


def _meeting_point(nodes: Nodes) -> MeetingPoint:
    config = tcp_config_from({**os.environ, **_node_variables(nodes), "COBRE_TCP_RANK": "0"})
    secret = encoded_secret(config.secret or "")
    return MeetingPoint(unbracketed(config.coordinator), config.port, _host(config), secret)


def _node_commands(argv: Sequence[str], nodes: Nodes) -> list[RankCommand]:
    shared = _node_variables(nodes)
    # What a rank elsewhere would find wrong (no secret, a malformed address) is found here, before anything starts.
    tcp_config_from({**os.environ, **shared, "COBRE_TCP_RANK": str(nodes.size - 1)})
    return [RankCommand(tuple(argv), {**shared, "COBRE_TCP_RANK": str(rank)}, rank) for rank in nodes.ranks]


def free_port() -> int:
    """A port of 127.0.0.1 that is free at this moment.

    The kernel gives it to no outgoing connection, which could take it before rank 0 listens there.
    """
    for port in random.SystemRandom().sample(BELOW_EPHEMERAL, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        chosen: int = probe.getsockname()[1]
        return chosen


BACKEND = Backend(
    name="tcp",
    detect=_detect,
    configure=_configure,
    open=TcpCommunicator.connect,
    rank_commands=_rank_commands,
    config_type=TcpConfig,
    limits=LIMITS,
    launch_variables=(LaunchVariables("COBRE_TCP_RANK", "COBRE_TCP_SIZE"),),
    timeout_variable="COBRE_TCP_TIMEOUT_SECS",
    node_commands=_node_commands,
    meeting_point=_meeting_point,
    speed_limit="loopback",
)
