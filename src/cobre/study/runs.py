"""Runs of other processes: attach to the folder of one, live or finished; read its events; steer it; start one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from cobre._machine import process_start
from cobre.errors import CobreError, IOError
from cobre.study.control import Control
from cobre.study.run_log import EVENTS, RUN
from cobre.study.run_state import RunState

__all__ = ["AttachedRun", "EventFile", "StartedRun", "attach", "start_run"]

CASE_OUTPUT = "output"
CONSOLE = "training/console.log"
POLL_S = 0.1
END_GRACE_S = 60.0
STOP_TIMEOUT_S = 2.0


def attach(path: str | PathLike[str]) -> AttachedRun:
    """The run whose output folder, or case folder, ``path`` is: live or finished, of this machine or another."""
    given = Path(path)
    for folder in (given, given / CASE_OUTPUT):
        if (folder / RUN).exists() or (folder / EVENTS).exists():
            return AttachedRun(folder)
    what = "holds no run that told its events" if given.is_dir() else "is not a folder"
    raise IOError(str(given), f"{given} {what}", suggestion=f"start one: cobre run {given}")


class EventFile:
    """Reads whole lines of ``events.jsonl`` as they come; half a line waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self._rest = b""
        self._inode: int | None = None

    def read(self) -> list[Any]:
        """What is new: events, and None for each line that is none. A file that another run replaced is read anew."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_ino != self._inode or found.st_size < self._place:
                    self._inode, self._place, self._rest = found.st_ino, 0, b""
                file.seek(self._place)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise IOError(str(self._path), f"cannot read {self._path}: {error.strerror}") from error
        self._place += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [parsed(line) for line in lines if line.strip()]


def parsed(line: bytes | str) -> Any:
    """The event of a line; None if it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


class AttachedRun:
    """A run and its folder. Looking at it never disturbs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def facts(self) -> dict[str, Any]:
        """``training/run.json``: run id, host, process, case, ranks, where it listens; empty where it is missing."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads((self.folder / RUN).read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    @property
    def is_here(self) -> bool:
        """Whether its first rank is of this machine."""
        return self.facts.get("hostname") == socket.gethostname()

    @property
    def is_live(self) -> bool:
        """Whether it is at work on this machine; of other machines nothing is known but their events."""
        # Not by the lock of the folder: trying it might keep the run from taking it.
        facts = self.facts
        if facts.get("hostname") != socket.gethostname() or not isinstance(facts.get("pid"), int):
            return False
        began = process_start(facts["pid"])
        return began is not None and began == facts.get("process_start") and not self._is_finished()

    @property
    def has_begun(self) -> bool:
        """Whether the events in its folder are its own, and not those of an earlier run."""
        return True

    @property
    def may_go_on(self) -> bool:
        """Whether more events may come: it is at work, or on another machine, of which nothing else is known."""
        return self.is_live or not self.is_here

    def _is_finished(self) -> bool:
        """Whether its last event says that it has ended."""
        try:
            with (self.folder / EVENTS).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - (1 << 16)))
                lines = file.read().splitlines()
        except OSError:
            return False
        last = parsed(lines[-1]) if lines else None
        return isinstance(last, dict) and last.get("type") == "finished"

    @cached_property
    def control(self) -> Control:
        """Steers it, from the machine of its first rank."""
        address = self.facts.get("control")
        if not isinstance(address, str):
            raise CobreError(
                "this run cannot be steered: it has no control socket", suggestion="stop it by a signal"
            )
        if not self.is_here:
            raise CobreError(
                f"this run is on {self.facts.get('hostname')}",
                suggestion="steer it from that machine: cobre tui works there, too",
            )
        return Control(address, lambda: self.is_live)

    def stop(self) -> None:
        """End it after its iteration: by a request, or by SIGTERM while it does not listen yet."""
        if self.is_here and not self.is_live:
            raise CobreError("the run has ended: nothing is left to stop")
        try:
            self.control.request("stop", wait=False, timeout_s=STOP_TIMEOUT_S)
        except CobreError:
            pid = self.facts.get("pid")
            if not (self.is_here and self.is_live and isinstance(pid, int)):
                raise
            os.kill(pid, signal.SIGTERM)

    def state(self) -> RunState:
        """Where it stands now."""
        found = RunState()
        found.fold(EventFile(self.folder / EVENTS).read())
        return found

    def events(self, *, follow: bool = False, timeout_s: float | None = None) -> Iterator[dict[str, Any]]:
        """All its events so far; with ``follow`` further ones until it ends, is found dead, or ``timeout_s`` passes.

        Whether a run of another machine is dead cannot be found: it is followed until its events say that it has ended.
        """
        file = EventFile(self.folder / EVENTS)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        is_over = False
        while True:
            could_go_on = not follow or self.may_go_on
            for event in file.read():
                if isinstance(event, dict):
                    is_over = event.get("type") == "finished"
                    yield event
            if (
                not follow
                or is_over
                or not could_go_on
                or (deadline is not None and time.monotonic() >= deadline)
            ):
                return
            time.sleep(POLL_S)

    def wait(self, timeout_s: float | None = None) -> RunState:
        """Return its state when it has ended, or after ``timeout_s``."""
        for _ in self.events(follow=True, timeout_s=timeout_s):
            pass
        return self.state()


class StartedRun(AttachedRun):
    """A run that this process started, in a session of its own: it outlives the one who started it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        super().__init__(folder)
        self.process = process

    @property
    def is_live(self) -> bool:
        """Whether its process is at work."""
        return self.process.poll() is None

    @property
    def facts(self) -> dict[str, Any]:
        """Those of this run; empty before it has started, whatever an earlier one left."""
        found = super().facts
        return found if found.get("pid") == self.process.pid else {}

    @property
    def has_begun(self) -> bool:
        """Whether it has written its facts: before that, the folder may hold events of an earlier run."""
        return bool(self.facts)

    @property
    def may_go_on(self) -> bool:
        """Whether more events may come."""
        return self.is_live

    def state(self) -> RunState:
        """Where it stands now: waiting before it has started."""
        return super().state() if self.has_begun else RunState()

    def events(self, *, follow: bool = False, timeout_s: float | None = None) -> Iterator[dict[str, Any]]:
        """Like those of an attached run, from its start on."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.has_begun:
            is_late = deadline is not None and time.monotonic() >= deadline
            if not self.is_live or not follow or is_late:
                return
            time.sleep(POLL_S)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        yield from super().events(follow=follow, timeout_s=left)

    @property
    def failure(self) -> str:
        """Why it ended before its first event."""
        return self.console.strip() or f"the run ended with exit status {self.process.poll()} before it began"

    @property
    def console(self) -> str:
        """What it printed: its errors, where it ended before it could start."""
        with contextlib.suppress(OSError):
            return (self.folder / CONSOLE).read_text(encoding="utf-8", errors="replace")
        return ""

    def end(self, grace_s: float = END_GRACE_S) -> int:
        """Ask it to stop after its iteration, kill it if it does not, and return its exit status."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


def start_run(
    case: str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    workers: int | None = None,
    arguments: Sequence[str] = (),
) -> StartedRun:
    """Start ``cobre run CASE`` as a process in a session of its own, and attach to it.

    ``arguments`` are further ones of the command, such as ``--resume``. What it prints goes to a file of the output
    folder.
    """
    folder = Path(case) / CASE_OUTPUT if output is None else Path(output)
    words = [sys.executable, "-m", "cobre", "run", *arguments]
    words += [] if str(case) in arguments else [str(case)]
    words += ["--output", str(folder)] + ([] if workers is None else ["-n", str(workers)])
    try:
        (folder / CONSOLE).parent.mkdir(parents=True, exist_ok=True)
        console = os.open(folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise IOError(str(folder), f"cannot write {folder / CONSOLE}: {error.strerror}") from error
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
        )
    finally:
        os.close(console)
    return StartedRun(folder, process)
