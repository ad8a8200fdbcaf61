"""Ranks that another program started, ``mpiexec`` for one, and that connect to the launcher by themselves."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from cobre.comm.launch.outlet import ERRORS, HEADER, REPORT, VARIABLE
from cobre.comm.launch.process import Stream
from cobre.comm.launch.report import Inbox
from cobre.comm.launch.verdict import RankResult, first_failure, text_of

__all__ = ["Visitor", "Visitors"]

HEADER_S = 5.0
"""How long a connection may take to say whose it is; the few bytes are on their way when it is accepted."""

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class Visitor:
    """One rank: its lines, what it reported, and when it ended. ``end`` becomes readable then."""

    def __init__(self, rank: int, keep_lines: int | None) -> None:
        self.rank = rank
        self.streams: list[Stream] = []
        self.inbox: Inbox | None = None
        self.tail: deque[bytes] = deque(maxlen=keep_lines)
        self.reported_at = math.inf
        self.end: int | None = None
        self.ended_at = math.inf

    @property
    def was_killed(self) -> bool:
        """Whether it is gone without a word; of a program that is not Python nobody can tell."""
        return self.ended_at < math.inf and self.inbox is not None and not self.inbox.has_ended_in_order


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
        self,
        on_stream: Callable[[Visitor, Stream], None],
        on_inbox: Callable[[Visitor, Inbox], None],
        on_rank: Callable[[Visitor], None],
    ) -> None:
        """Let one connection in, and say what it is; ``on_rank`` once per rank, as soon as its process is known."""
        connection, _ = self._listener.accept()
        connection.settimeout(HEADER_S)
        with contextlib.suppress(OSError):
            header = connection.recv(HEADER.size, socket.MSG_WAITALL)
            if len(header) == HEADER.size:
                rank, purpose = HEADER.unpack(header)
                self._admit(connection, rank, purpose, on_stream, on_inbox, on_rank)
                return
        connection.close()

    def _admit(
        self,
        connection: socket.socket,
        rank: int,
        purpose: int,
        on_stream: Callable[[Visitor, Stream], None],
        on_inbox: Callable[[Visitor, Inbox], None],
        on_rank: Callable[[Visitor], None],
    ) -> None:
        visitor = self.ranks.setdefault(rank, Visitor(rank, self._keep_lines))
        if purpose == REPORT:
            visitor.end = _open_process(connection)
            on_rank(visitor)
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

    def culprit(self, result: RankResult, started_at: float) -> RankResult:
        """The failure of the command that is all ranks as that of one rank, if it can be told which.

        One that reported a failure of its own, or one that was gone without a word before anybody reported anything:
        whoever ends later may have been ended by the command. If a signal ended the command itself, it is the culprit.
        """
        if result.exit_code < 0:
            return result
        told = [
            RankResult(
                rank=visitor.rank,
                exit_code=result.exit_code,
                output=text_of(visitor.tail),
                ended_after_s=visitor.reported_at - started_at,
                failure=visitor.inbox.failure,
            )
            for visitor in self.ranks.values()
            if visitor.inbox is not None and visitor.inbox.failure is not None
        ]
        first_report = min((visitor.reported_at for visitor in self.ranks.values()), default=math.inf)
        killed = [visitor for visitor in self.ranks.values() if visitor.was_killed]
        gone = min(killed, key=lambda visitor: visitor.ended_at, default=None)
        if gone is not None and gone.ended_at < first_report:
            # What the two families of MPI say about it has only this word in common.
            signal = re.search(r"\bsignal\s+(\d+)", result.output)
            told.append(
                RankResult(
                    rank=gone.rank,
                    exit_code=-int(signal[1]) if signal else result.exit_code,
                    output=text_of(gone.tail),
                    ended_after_s=gone.ended_at - started_at,
                )
            )
        return first_failure(told) or result

    def close(self) -> None:
        self._listener.close()
        for visitor in self.ranks.values():
            if visitor.end is not None:
                os.close(visitor.end)
            for stream in visitor.streams:
                stream.close()
            if visitor.inbox is not None:
                visitor.inbox.close()


def _open_process(connection: socket.socket) -> int | None:
    """A descriptor of the process that connected; ``None`` if it is gone already, or out of sight in a container."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    try:
        return os.pidfd_open(CREDENTIALS.unpack(credentials)[0])
    except OSError:
        return None
