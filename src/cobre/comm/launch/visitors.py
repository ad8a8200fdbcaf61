"""Ranks that another program started, ``mpiexec`` for one, and that connect to the launcher by themselves."""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from cobre.comm.launch.outlet import ERRORS, HEADER, REPORT, VARIABLE
from cobre.comm.launch.pidfd import exit_code_of, open_peer
from cobre.comm.launch.process import Stream
from cobre.comm.launch.verdict import RankResult, first_failure, text_of
from cobre.comm.report import Failure, Inbox

__all__ = ["Visitor", "Visitors"]

HEADER_S = 5.0
"""How long a connection may take to say whose it is; the few bytes are on their way when it is accepted."""

AT_ONCE_S = 1.0
NOTICED = re.compile(rb"Fatal error in |\*\*\* An error occurred in ")
"""What MPICH's family and Open MPI print when a call fails and takes the job with it."""

KILLED = re.compile(r"process rank (\d+) .*?exited on\s+signal (\d+)", re.DOTALL)
"""What Open MPI's mpiexec prints about a rank that a signal ended."""


class Visitor:
    """One rank: its lines, what it reported, and when it ended. ``end`` becomes readable then."""

    def __init__(self, rank: int, keep_lines: int | None) -> None:
        self.rank = rank
        self.streams: list[Stream] = []
        self.inbox: Inbox | None = None
        self.tail: deque[bytes] = deque(maxlen=keep_lines)
        self.reported_at = math.inf
        self.end: int | None = None
        self.gone_at = math.inf
        self.exit_code: int | None = None

    def note_end(self) -> None:
        """Its process, or its last connection, is gone: the latter closes first, and mpiexec may be quick."""
        self.gone_at = min(self.gone_at, time.monotonic())

    @property
    def failure(self) -> Failure | None:
        """What it reported, if anything."""
        return None if self.inbox is None else self.inbox.failure

    @property
    def is_silent(self) -> bool:
        """Whether it is gone without a report, and not in good order as far as that can be known."""
        if self.gone_at == math.inf or self.failure is not None:
            return False
        if self.exit_code is not None:
            return self.exit_code != 0
        return self.inbox is None or not self.inbox.has_ended_in_order


class Visitors:
    """The place to which ranks connect. It has an abstract name: nothing to leave behind, and unguessable."""

    def __init__(
        self, size: int, rank_variables: Sequence[str], *, is_split: bool, keep_lines: int | None
    ) -> None:
        self.ranks: dict[int, Visitor] = {}
        self._size = size
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
            visitor.end = open_peer(connection)
            on_rank(visitor)
            visitor.inbox = Inbox(connection.detach())
            on_inbox(visitor, visitor.inbox)
            return
        file = cast("IO[bytes]", connection.makefile("rb", buffering=0))
        connection.close()
        stream = Stream(file, is_error=purpose == ERRORS)
        visitor.streams.append(stream)
        on_stream(visitor, stream)

    def send(self, number: int) -> bool:
        """Signal every rank; ``False``, and nothing done, unless all of them run on this machine and are known."""
        ends = [visitor.end for visitor in self.ranks.values() if visitor.end is not None]
        if len(ends) < self._size:
            return False
        for end in ends:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(end, number)
        return True

    def note_report(self, visitor: Visitor) -> None:
        """Remember who reported a failure first."""
        if visitor.inbox is not None and visitor.inbox.failure is not None:
            visitor.reported_at = min(visitor.reported_at, time.monotonic())

    def culprit(self, result: RankResult, started_at: float) -> RankResult:
        """The failure of the command that is all ranks as that of one rank, if it can be told which. After `close`.

        If a signal ended the command itself, it is the culprit, unless it had told before that a signal ended a rank:
        Open MPI's mpiexec may crash while it removes the other ranks.
        """
        if result.exit_code < 0:
            return self._killed(result, started_at) or result
        told = [
            RankResult(
                rank=visitor.rank,
                # If a signal ended one that had told its failure, the signal was mpiexec's.
                exit_code=max(visitor.exit_code or 0, 0) or result.exit_code,
                output=text_of(visitor.tail),
                ended_after_s=visitor.reported_at - started_at,
                failure=visitor.failure,
            )
            for visitor in self.ranks.values()
            if visitor.failure is not None
        ]
        return first_failure([*told, *self._silent(result, started_at)]) or result

    def _killed(self, result: RankResult, started_at: float) -> RankResult | None:
        """The rank of which the command said, before it ended, that a signal had ended it."""
        told = KILLED.search(result.output)
        visitor = self.ranks.get(int(told[1])) if told else None
        if told is None or visitor is None:
            return None
        return RankResult(
            rank=visitor.rank,
            exit_code=-int(told[2]),
            output=text_of(visitor.tail),
            ended_after_s=min(visitor.gone_at - started_at, result.ended_after_s),
        )

    def _silent(self, result: RankResult, started_at: float) -> list[RankResult]:
        """The rank that was gone first, if that was before any report: who goes later may have been ended for it."""
        silent = sorted((v for v in self.ranks.values() if v.is_silent), key=lambda v: v.gone_at)
        first_report = min((v.reported_at for v in self.ranks.values()), default=math.inf)
        if not silent or silent[0].gone_at > first_report:
            return []
        first = silent[0]
        code = first.exit_code
        if code is None:
            # What the two families of MPI say about it has only this word in common.
            said = [int(number) for number in re.findall(r"\bsignal\s+(\d+)", result.output)]
            code = next((-n for n in said if result.exit_code in (n, 128 + n)), result.exit_code)
        # Where the library noticed the death itself, it may have ended the others before the dead one was torn down.
        is_noticed = any(NOTICED.search(line) for v in self.ranks.values() for line in v.tail)
        alike = [v.rank for v in silent[1:] if is_noticed and v.gone_at - first.gone_at < AT_ONCE_S]
        return [
            RankResult(
                rank=first.rank,
                exit_code=code,
                output=text_of(first.tail),
                ended_after_s=first.gone_at - started_at,
                alike=tuple(sorted(alike)),
            )
        ]

    def close(self) -> None:
        """All ranks are gone, and whoever started them has waited for them: now it can be asked how they ended."""
        self._listener.close()
        for visitor in self.ranks.values():
            if visitor.end is not None:
                visitor.exit_code = exit_code_of(visitor.end)
                os.close(visitor.end)
            for stream in visitor.streams:
                stream.close()
            if visitor.inbox is not None:
                visitor.inbox.close()
