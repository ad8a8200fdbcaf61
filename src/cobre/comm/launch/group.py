"""All processes of one launch, in one event loop: output, reports, ends, deadlines, signals."""

from __future__ import annotations

import contextlib
import errno
import math
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from cobre.comm.backend import RankCommand
from cobre.comm.launch.connected import ConnectedRank, ConnectedRanks
from cobre.comm.launch.guard import Guard
from cobre.comm.launch.kills import SignalWatch
from cobre.comm.launch.output import Output
from cobre.comm.launch.process import RankProcess, Stream
from cobre.comm.launch.sweep import kill_marked, remove
from cobre.comm.report import Inbox
from cobre.errors import InitializationFailed

__all__ = ["GRACE_S", "Group"]

GRACE_S = 2.0
"""How long ranks may take to end by themselves once one has failed, and again after SIGTERM."""

PROMPT_S = 0.15
"""How long an unfinished line may wait for its end before it is shown on a terminal."""

LAST_REPORTS_S = 2.0

MARK = "COBRE_LAUNCH_ID"

REMEDIES = {
    errno.EMFILE: "start fewer ranks, or allow more open files: ulimit -n",
    errno.ENFILE: "start fewer ranks, or allow this machine more open files: sysctl fs.file-max",
    errno.EAGAIN: "start fewer ranks, or allow more processes: ulimit -u",
    errno.ENOMEM: "start fewer ranks, or free some memory",
    errno.E2BIG: "pass fewer or shorter arguments and variables",
}
"""For what is no fault of the program's."""


class HasFileno(Protocol):
    """What the event loop can wait for."""

    def fileno(self) -> int: ...


class Group:
    """All ranks of one launch. Leaving the ``with`` block kills and reaps whatever still runs."""

    def __init__(
        self,
        commands: Sequence[RankCommand],
        output: Output,
        *,
        grace_s: float | None = None,
        keep_lines: int | None = None,
        connected: ConnectedRanks | None = None,
    ) -> None:
        self.ranks: list[RankProcess] = []
        self.running: list[RankProcess] = []
        self.on_report: Callable[[RankProcess], None] = lambda rank: None
        self.started_at = time.monotonic()
        self._commands = commands
        self._output = output
        self._keep_lines = keep_lines
        self._grace_s = GRACE_S if grace_s is None else grace_s
        self._mark = f"{MARK}={secrets.token_hex(16)}"
        self._leaves = [path for command in commands for path in command.leaves]
        self._selector = selectors.DefaultSelector()
        self._events_at = -math.inf
        self._lets_children_go = _stop_ignoring_children()
        self.connected = connected
        self.signals = SignalWatch()
        self._guard = Guard(self._mark, self._leaves)
        self.on_readable(self._guard, self._restart_guard)
        if connected is not None:
            self.on_readable(connected, self._admit_connection)

    def start(
        self,
        backend: str,
        environ: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        pass_fds: tuple[int, ...] = (),
        held: Iterable[signal.Signals] = (),
    ) -> None:
        """Start every command; ``stdin`` is for rank 0, or for the one command that is all ranks.

        Signals that are ``held`` wait until the rank unblocks them: only for programs that do.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
        try:
            self._start(backend, environ, stdin, pass_fds)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start(self, backend: str, environ: Mapping[str, str], stdin: int, pass_fds: tuple[int, ...]) -> None:
        name, _, mark = self._mark.partition("=")
        # Unbuffered, or what a Python rank printed before it was killed would be lost with its buffer.
        address = self.connected.environ if self.connected is not None else {}
        common = {"PYTHONUNBUFFERED": "1", **environ, **address, "COBRE_COMM_BACKEND": backend, name: mark}
        for command in self._commands:
            try:
                rank = RankProcess(
                    command,
                    {**common, **command.env},
                    stdin=subprocess.DEVNULL if command.rank else stdin,
                    is_split=self._output.is_split,
                    keep_lines=self._keep_lines,
                    pass_fds=pass_fds,
                )
            except OSError as error:
                raise InitializationFailed(
                    backend,
                    error,
                    f"cannot start {command.argv[0]!r}: {error.strerror}",
                    suggestion=REMEDIES.get(
                        error.errno or 0, "check the program's path, and that it may be executed"
                    ),
                ) from error
            self._add(rank)

    def on_readable(self, source: HasFileno, callback: Callable[[], None]) -> None:
        """Call back, inside `wait`, whenever there is something to read."""
        self._selector.register(source, selectors.EVENT_READ, callback)

    def send(self, number: int) -> None:
        """Forward a signal to everything that runs.

        Straight to ranks that another program started: mpiexec makes something else of most signals. To kill, kill it.
        """
        if self.connected is not None and number != signal.SIGKILL and self.connected.send(number):
            return
        for rank in self.running:
            rank.signal_group(number)

    def wait(self, deadline: float = math.inf) -> bool:
        """Whether every rank has ended by itself or, after a failure, been ended, before ``deadline``."""
        ways_to_end = [signal.SIGTERM, signal.SIGKILL]
        end_at = math.inf
        while self.running:
            now = time.monotonic()
            if now >= deadline:
                return False
            if now >= end_at:
                number = ways_to_end.pop(0)
                for rank in self.running:
                    rank.end_group(number)
                end_at = now + self._grace_s if ways_to_end else math.inf
            self._handle_events(min(deadline, end_at) - now)
            if end_at == math.inf and ways_to_end and any(rank.exit_code for rank in self.ranks):
                end_at = time.monotonic() + self._grace_s
        return True

    def _add(self, rank: RankProcess) -> None:
        self.ranks.append(rank)
        self.running.append(rank)
        self._guard.watch(rank.process.pid for rank in self.running)
        self._selector.register(rank.end, selectors.EVENT_READ, lambda: self._finish(rank))
        self._selector.register(rank.inbox, selectors.EVENT_READ, lambda: self._read_report(rank))
        for stream in rank.streams:
            self._watch_stream(rank, stream)

    def _watch_stream(self, rank: RankProcess | ConnectedRank, stream: Stream) -> None:
        def read() -> None:
            lines = stream.read_lines()
            if lines is None:
                self._selector.unregister(stream)
                lines = stream.read_lines(is_last=True) or []
            self._show(rank, stream, lines)

        self._selector.register(stream, selectors.EVENT_READ, read)

    def _admit_connection(self) -> None:
        if self.connected is not None:
            self.connected.accept(self._watch_stream, self._watch_inbox, self._watch_end)

    def _watch_end(self, rank: ConnectedRank) -> None:
        end = rank.end
        if end is None:
            return

        def note() -> None:
            rank.note_end(self._events_at)
            self._selector.unregister(end)

        self._selector.register(end, selectors.EVENT_READ, note)

    def _watch_inbox(self, rank: ConnectedRank, inbox: Inbox) -> None:
        def read() -> None:
            if not inbox.read():
                self._selector.unregister(inbox)
                rank.note_end(self._events_at)
            self._guard.remove_at_end(inbox.leaves)
            if self.connected is not None:
                self.connected.note_report(rank)

        self._selector.register(inbox, selectors.EVENT_READ, read)

    def _handle_events(self, seconds: float) -> None:
        waits_for_end_of_line = self._output.is_interactive and self._unshown()
        if waits_for_end_of_line:
            seconds = min(seconds, PROMPT_S)
        events = self._selector.select(seconds if seconds < math.inf else None)
        self._events_at = time.monotonic()
        registered = self._selector.get_map()
        for key, _ in events:
            if key.fd in registered and registered[key.fd] is key:  # an earlier event may have ended it
                key.data()
        if waits_for_end_of_line and not events:
            for rank, stream in self._unshown():
                self._output.show_partial(rank.rank, bytes(stream.partial), is_error=stream.is_error)
                stream.shown = len(stream.partial)

    def _unshown(self) -> list[tuple[RankProcess | ConnectedRank, Stream]]:
        connected = self.connected.ranks.values() if self.connected is not None else ()
        streams = [(rank, stream) for rank in (*self.running, *connected) for stream in rank.streams]
        return [(rank, stream) for rank, stream in streams if len(stream.partial) > stream.shown]

    def _read_report(self, rank: RankProcess) -> None:
        if not rank.inbox.read():
            self._selector.unregister(rank.inbox)
        self._guard.remove_at_end(rank.inbox.leaves)
        self.on_report(rank)

    def _finish(self, rank: RankProcess) -> None:
        """Take what the rank still had to say, end what it left running, and reap it."""
        rank.signal_group(signal.SIGKILL)
        last = [(stream, stream.read_lines(is_last=True) or []) for stream in rank.streams]
        rank.inbox.read()
        sources: list[int | HasFileno] = [rank.end, rank.inbox, *rank.streams]
        for source in sources:
            with contextlib.suppress(KeyError):
                self._selector.unregister(source)
        self.running.remove(rank)
        self._guard.watch(rank.process.pid for rank in self.running)  # before its id can become another's
        rank.reap()
        for stream, lines in last:
            self._show(rank, stream, lines)
        self.on_report(rank)
        if self.connected is not None and not self.running:
            self._read_last_reports()

    def _read_last_reports(self) -> None:
        """The starter and the ranks have ended: everything that they sent can be read now."""
        end = time.monotonic() + LAST_REPORTS_S
        while time.monotonic() < end:
            events = self._selector.select(0)
            self._events_at = time.monotonic()
            if not events:
                break
            for key, _ in events:
                key.data()

    def _show(self, rank: RankProcess | ConnectedRank, stream: Stream, lines: list[bytes]) -> None:
        rank.tail.extend(lines)
        if lines:
            stream.shown = 0
        self._output.show(rank.rank, lines, is_error=stream.is_error)

    def _reported_leaves(self) -> set[str]:
        """Files that ranks announced, in addition to those that their commands name."""
        connected = self.connected.ranks.values() if self.connected is not None else ()
        inboxes = (rank.inbox for rank in (*self.ranks, *connected))
        return {path for inbox in inboxes if inbox is not None for path in inbox.leaves}

    def _restart_guard(self) -> None:
        self._selector.unregister(self._guard)
        self._guard.restart()
        self.on_readable(self._guard, self._restart_guard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for rank in self.running:
            rank.signal_group(signal.SIGKILL)
        # Ranks that were just being started, in a session of their own, or children of a killed mpiexec.
        kill_marked(self._mark)
        for rank in self.running:
            rank.reap()
        self.running.clear()
        for path in self._leaves:
            remove(Path(path))
        for path in self._reported_leaves():
            with contextlib.suppress(OSError):
                Path(path).unlink()
        self._guard.dismiss()
        self._selector.close()
        if self.connected is not None:
            self.connected.close()
        self._output.close()
        if self._lets_children_go:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _stop_ignoring_children() -> bool:
    """Restore SIGCHLD if it is ignored, which programs inherit: else exit codes are lost. Whether it was ignored."""
    is_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if not is_ignored or threading.current_thread() is not threading.main_thread():
        return False
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return True
