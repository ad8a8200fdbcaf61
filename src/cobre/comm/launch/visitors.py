"""Ranks that another program started, ``mpiexec`` for one, and that connect to the launcher by themselves."""

from __future__ import annotations

import contextlib
import math
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from cobre.comm.launch.outlet import ERRORS, HEADER, REPORT, VARIABLE
from cobre.comm.launch.process import Stream
from cobre.comm.launch.report import Inbox

__all__ = ["Visitor", "Visitors"]

HEADER_S = 5.0
"""How long a connection may take to say whose it is; the few bytes are on their way when it is accepted."""


class Visitor:
    """One rank: its lines, and what it reported."""

    def __init__(self, rank: int, keep_lines: int | None) -> None:
        self.rank = rank
        self.streams: list[Stream] = []
        self.inbox: Inbox | None = None
        self.tail: deque[bytes] = deque(maxlen=keep_lines)
        self.reported_at = math.inf


class Visitors:
    """The place to which ranks connect. It has an abstract name: nothing to leave behind, and unguessable."""

    def __init__(self, rank_variables: Sequence[str], *, is_split: bool, keep_lines: int | None) -> None:
        self.ranks: dict[int, Visitor] = {}
        self._rank_variables = rank_variables
        self._is_split = is_split
        self._keep_lines = keep_lines
        self._address = f"cobre_comm_{secrets.token_hex(16)}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind("\0" + self._address)
        self._listener.listen(4096)

    @property
    def environ(self) -> dict[str, str]:
        """What ranks need to find the way."""
        return {VARIABLE: self._address}

    def wrap(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command with the outlet in front."""
        outlet = str(Path(__file__).with_name("outlet.py"))
        names, split = ",".join(self._rank_variables), str(int(self._is_split))
        return (sys.executable, "-S", "-E", outlet, names, split, *argv)

    def fileno(self) -> int:
        return self._listener.fileno()

    def accept(
        self, on_stream: Callable[[Visitor, Stream], None], on_inbox: Callable[[Visitor, Inbox], None]
    ) -> None:
        """Let one connection in, and say what it is."""
        connection, _ = self._listener.accept()
        connection.settimeout(HEADER_S)
        with contextlib.suppress(OSError):
            header = connection.recv(HEADER.size, socket.MSG_WAITALL)
            if len(header) == HEADER.size:
                rank, purpose = HEADER.unpack(header)
                self._admit(connection, rank, purpose, on_stream, on_inbox)
                return
        connection.close()

    def _admit(
        self,
        connection: socket.socket,
        rank: int,
        purpose: int,
        on_stream: Callable[[Visitor, Stream], None],
        on_inbox: Callable[[Visitor, Inbox], None],
    ) -> None:
        visitor = self.ranks.setdefault(rank, Visitor(rank, self._keep_lines))
        if purpose == REPORT:
            visitor.inbox = Inbox(connection.detach())
            on_inbox(visitor, visitor.inbox)
            return
        file = cast("IO[bytes]", connection.makefile("rb", buffering=0))
        connection.close()
        stream = Stream(file, is_error=purpose == ERRORS)
        visitor.streams.append(stream)
        on_stream(visitor, stream)

    def note_report(self, visitor: Visitor) -> None:
        """Remember who reported a failure first."""
        if visitor.inbox is not None and visitor.inbox.failure is not None:
            visitor.reported_at = min(visitor.reported_at, time.monotonic())

    def close(self) -> None:
        self._listener.close()
        for visitor in self.ranks.values():
            for stream in visitor.streams:
                stream.close()
            if visitor.inbox is not None:
                visitor.inbox.close()
