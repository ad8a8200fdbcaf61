"""Ranks that another program started, such as ``mpiexec``, and that connect to the launcher themselves."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

from cobre.comm.backend import Backend
from cobre.comm.launch.blame import RankResult, first_failure, text_of
from cobre.comm.launch.outlet import ERRORS, HEADER, REPORT, VARIABLE
from cobre.comm.launch.pidfd import exit_code_of, open_peer
from cobre.comm.launch.process import Stream
from cobre.comm.report import Failure, Inbox

__all__ = ["ConnectedRank", "ConnectedRanks"]

HEADER_S = 5.0
"""How long a connection may take to say whose it is; the few bytes are on their way when it is accepted."""

AT_ONCE_S = 1.0
"""Ranks that end so soon after another may have been ended together with it."""

ENDED_BY_MPIEXEC = (-signal.SIGKILL, -signal.SIGTERM)
"""Exit codes of ranks that mpiexec ends because another one has failed."""


class ConnectedRank:
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

    def note_end(self, now: float) -> None:
        """Its process, or its last connection, is gone: the latter closes first, and mpiexec may be quick."""
        self.gone_at = min(self.gone_at, now)

    @property
    def failure(self) -> Failure | None:
        """What it reported, if anything."""
        return None if self.inbox is None else self.inbox.failure

    @property
    def has_failed_itself(self) -> bool:
        """Whether it reported a failure that does not tell of another rank's."""
        return self.failure is not None and not self.failure.is_consequence

    @property
    def is_silent(self) -> bool:
        """Whether it is gone without a report, and not in good order as far as that can be known."""
        if self.gone_at == math.inf or self.failure is not None:
            return False
        if self.exit_code is not None:
            return self.exit_code != 0
        return not self.has_ended_in_order

    @property
    def has_ended_in_order(self) -> bool:
        """Whether it reported that its program ended, and nothing killed it."""
        return self.inbox is not None and self.inbox.has_ended_in_order

    @property
    def was_killed_after_its_end(self) -> bool:
        """Whether a signal ended it while it waited in MPI_Finalize for the others: its program had ended by itself."""
        return self.has_ended_in_order and self.exit_code is not None and self.exit_code < 0


def _own_failures_first(silent: Sequence[ConnectedRank]) -> list[ConnectedRank]:
    """Put ranks first that ended together with the earliest one and have an exit code that mpiexec does not cause."""
    earliest = min((v.gone_at for v in silent), default=math.inf)
    return sorted(
        silent, key=lambda v: v.exit_code in (None, *ENDED_BY_MPIEXEC) or v.gone_at - earliest >= AT_ONCE_S
    )


class ConnectedRanks:
    """The socket to which ranks connect. Its name is abstract, so that no file is left, and random."""

    def __init__(self, backend: Backend, size: int, *, is_split: bool, keep_lines: int | None) -> None:
        self.ranks: dict[int, ConnectedRank] = {}
        self._size = size
        self._rank_variables = [names.rank for names in backend.launch_variables]
        self._messages = backend.starter_messages() if backend.starter_messages is not None else None
        self._is_split = is_split
        self._keep_lines = keep_lines
        self._address = f"cobre_comm_{secrets.token_hex(16)}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind("\0" + self._address)
        self._listener.listen(4096)

    @property
    def environ(self) -> dict[str, str]:
        """The variable in which ranks find the address."""
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
        on_stream: Callable[[ConnectedRank, Stream], None],
        on_inbox: Callable[[ConnectedRank, Inbox], None],
        on_rank: Callable[[ConnectedRank], None],
    ) -> None:
        """Let one connection in, and say what it is; ``on_rank`` once per rank, as soon as its process is known."""
        connection, _ = self._listener.accept()
        connection.settimeout(HEADER_S)
        with contextlib.suppress(OSError):
            header = connection.recv(HEADER.size, socket.MSG_WAITALL)
            if len(header) == HEADER.size:
                number, purpose = HEADER.unpack(header)
                self._admit(connection, number, purpose, on_stream, on_inbox, on_rank)
                return
        connection.close()

    def _admit(
        self,
        connection: socket.socket,
        number: int,
        purpose: int,
        on_stream: Callable[[ConnectedRank, Stream], None],
        on_inbox: Callable[[ConnectedRank, Inbox], None],
        on_rank: Callable[[ConnectedRank], None],
    ) -> None:
        rank = self.ranks.setdefault(number, ConnectedRank(number, self._keep_lines))
        if purpose == REPORT:
            rank.end = open_peer(connection)
            on_rank(rank)
            rank.inbox = Inbox(connection.detach())
            on_inbox(rank, rank.inbox)
            return
        file = cast("IO[bytes]", connection.makefile("rb", buffering=0))
        connection.close()
        stream = Stream(file, is_error=purpose == ERRORS)
        rank.streams.append(stream)
        on_stream(rank, stream)

    def send(self, number: int) -> bool:
        """Signal every rank; ``False``, and nothing done, unless all of them run on this machine and are known."""
        ends = [rank.end for rank in self.ranks.values() if rank.end is not None]
        if len(ends) < self._size:
            return False
        for end in ends:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(end, number)
        return True

    def note_report(self, rank: ConnectedRank) -> None:
        """Remember who reported a failure first."""
        if rank.inbox is not None and rank.inbox.failure is not None:
            rank.reported_at = min(rank.reported_at, time.monotonic())

    def culprit(self, result: RankResult, started_at: float) -> RankResult:
        """The failure of the command that is all ranks as that of one rank, if it can be told which. After `close`.

        If a signal ended the command itself, it is the culprit, unless it had told before that a signal ended a rank:
        Open MPI's mpiexec may crash while it removes the other ranks.
        """
        if result.exit_code < 0:
            return self._killed(result, started_at) or result
        told = [
            RankResult(
                rank=rank.rank,
                # If a signal ended one that had told its failure, the signal was mpiexec's.
                exit_code=max(rank.exit_code or 0, 0) or result.exit_code,
                output=text_of(rank.tail),
                ended_after_s=rank.reported_at - started_at,
                failure=rank.failure,
            )
            for rank in self.ranks.values()
            if rank.failure is not None
        ]
        return first_failure([*told, *self._silent(result, started_at)]) or result

    def _killed(self, result: RankResult, started_at: float) -> RankResult | None:
        """The rank of which the command said, before it ended, that a signal had ended it."""
        told = self._messages.killed_rank.search(result.output) if self._messages is not None else None
        rank = self.ranks.get(int(told[1])) if told else None
        if told is None or rank is None:
            return None
        return RankResult(
            rank=rank.rank,
            exit_code=-int(told[2]),
            output=text_of(rank.tail),
            ended_after_s=min(rank.gone_at - started_at, result.ended_after_s),
        )

    def _silent(self, result: RankResult, started_at: float) -> list[RankResult]:
        """The rank that was gone first, if that was before any report: later ones may have been ended for it.

        mpiexec ends with the status of the rank that it blames, so a rank with this status comes before all others.
        On a busy machine a rank that mpiexec ended may be seen to go before the one that aborted the job, even before
        the report of that one: SIGTERM, which mpiexec sends to the others, is then no failure of its own.
        """
        status = result.exit_code
        silent = sorted(
            (v for v in self.ranks.values() if v.is_silent), key=lambda v: (v.exit_code != status, v.gone_at)
        )
        # Where the library noticed the death itself, it may have ended the others before the dead one was torn down.
        lines = [line for v in self.ranks.values() for line in v.tail]
        is_noticed = self._messages is not None and any(map(self._messages.failed_call.search, lines))
        if not is_noticed:
            silent = _own_failures_first(silent)
        first_report = min((v.reported_at for v in self.ranks.values()), default=math.inf)
        if not silent or silent[0].gone_at > first_report:
            return []
        # A slow launcher sees the ranks that mpiexec killed together with the one that it killed them for.
        alike = [
            v
            for v in silent
            if (is_noticed and v.gone_at - silent[0].gone_at < AT_ONCE_S)
            or (v.gone_at == silent[0].gone_at and v.exit_code == silent[0].exit_code)
        ]
        first, *others = [v for v in alike if not v.was_killed_after_its_end] or alike
        own_report = min(
            (v.reported_at for v in self.ranks.values() if v.has_failed_itself), default=math.inf
        )
        if first.exit_code == -signal.SIGTERM and own_report - first.gone_at < AT_ONCE_S:
            return []
        code = first.exit_code
        if code is None:
            found = self._messages.signal.findall(result.output) if self._messages is not None else []
            said = [int(number) for number in found]
            code = next((-n for n in said if result.exit_code in (n, 128 + n)), result.exit_code)
        return [
            RankResult(
                rank=first.rank,
                exit_code=code,
                output=text_of(first.tail),
                ended_after_s=first.gone_at - started_at,
                alike=tuple(sorted(v.rank for v in others)),
            )
        ]

    def close(self) -> None:
        """After all ranks have ended and their starter has reaped them: read their exit codes."""
        self._listener.close()
        for rank in self.ranks.values():
            if rank.end is not None:
                rank.exit_code = exit_code_of(rank.end)
                os.close(rank.end)
            for stream in rank.streams:
                stream.close()
            if rank.inbox is not None:
                rank.inbox.close()
