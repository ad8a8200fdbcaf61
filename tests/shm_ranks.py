"""Real processes for tests of the shm backend: ranks that run a few lines and say how it went."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import warm

TIMEOUT_S = 60.0
"""Longer than any test takes, unless it says otherwise: who hears of a fault earlier has not waited for a timeout."""
NOTICED_S = 0.5 if os.environ.get("COBRE_TEST_SOAK") else 0.5 * TIMEOUT_S
"""Until a rank hears of a fault. ``make soak`` asks for the promised half second, on a machine that is idle."""

PRELUDE = (
    f"TIMEOUT_S = {TIMEOUT_S}"
    + """
import json, os, signal, sys, threading, time
import numpy as np
from cobre.comm import *
rank, size, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
victim = size - 1
begin = time.monotonic()

def config(**changes):
    timeouts = {"connect_timeout": TIMEOUT_S, "timeout": TIMEOUT_S}
    return ShmConfig(**{"name": name, "rank": rank, "size": size, **timeouts, **changes})

def say(**values):
    os.write(1, (json.dumps(values) + "\\n").encode())  # at once: ranks may share one pipe

def linger():
    sys.stdin.read()  # until the test tells it to go on, or those with a smaller number have ended

def attempt(call, *arguments):
    begin = time.monotonic()
    try:
        call(*arguments)
    except CobreError as error:
        cause = type(error.__cause__).__name__ if error.__cause__ else None
        now = time.monotonic()  # one clock for all processes of the machine
        say(error=type(error).__name__, text=str(error), seconds=now - begin, cause=cause, at=now)
        return error
    say(error=None, text="", seconds=time.monotonic() - begin, cause=None)
"""
)


def fresh_name() -> str:
    return f"/cobre_test_{os.getpid()}_{secrets.token_hex(6)}"


def wait_for(path: Path, seconds: float = 60.0) -> None:
    """Until there is such a file."""
    _wait_until(path.exists, f"{path} never came", seconds)


def wait_until_stopped(rank: Rank, seconds: float = 60.0) -> None:
    """Until a signal has stopped the process."""
    status = Path(f"/proc/{rank.process.pid}/stat")
    _wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T", "it never stopped", seconds)


def wait_until_registered(name: str, count: int, seconds: float = 60.0) -> None:
    """Until so many ranks of a group that is not complete yet have registered in its segment."""
    path = Path("/dev/shm") / name[1:]
    wait_for(path, seconds)
    _wait_until(lambda: _registered(path) >= count, f"fewer than {count} ranks registered", seconds)


def _registered(path: Path) -> int:
    """``Header::attached`` of native/shm/layout.hpp."""
    with path.open("rb") as file:
        file.seek(128)
        return int.from_bytes(file.read(4), sys.byteorder)


def _wait_until(is_so: Callable[[], bool], otherwise: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.005)


def own_segments(name: str | None = None) -> list[Path]:
    """What this process' group ``name``, or any, has left in /dev/shm; other processes may be testing, too."""
    return list(Path("/dev/shm").glob(f"{name[1:]}*" if name else f"cobre_test_{os.getpid()}_*"))


@dataclass
class Rank:
    """One process and, once it has ended, what it said."""

    process: subprocess.Popen[str] | warm.Process
    said: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    _heard: str = ""

    @property
    def exit_code(self) -> int | None:
        return self.process.returncode

    def hear(self, seconds: float = 60.0) -> dict[str, Any]:
        """The next thing that it says while it runs."""
        assert self.process.stdout is not None
        descriptor, line, end = self.process.stdout.fileno(), b"", time.monotonic() + seconds
        while not (line.startswith(b"{") and line.endswith(b"\n")):
            line = b"" if line.endswith(b"\n") else line
            is_there = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]
            assert is_there, f"it says nothing: {self._heard}"
            more = os.read(descriptor, 1)
            assert more, f"it ended by itself: {self._heard}"
            line += more
            self._heard += more.decode(errors="replace")
        return json.loads(line)

    def go_on(self) -> None:
        """Ends its ``linger``."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if isinstance(self.process, subprocess.Popen):
            self.process.stdin = None  # which ``communicate`` would flush

    def finish(self, seconds: float) -> None:
        rest, _ = self.process.communicate(timeout=seconds)
        self.output = self._heard + rest
        self.said = [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]


class Ranks:
    """``size`` ranks that run ``body``; all are gone when the ``with`` block is left."""

    def __init__(
        self, size: int, body: str, *, name: str | None = None, prefix: tuple[str, ...] = (), **env: str
    ):
        self.name = name or fresh_name()
        self.ranks: list[Rank] = []
        for rank in range(size):
            self.add(rank, size, body, prefix=prefix, **env)

    def add(self, rank: int, size: int, body: str, *, prefix: tuple[str, ...] = (), **env: str) -> Rank:
        words = ["-c", str(rank), str(size), self.name]
        # Its stdin is closed when the rank is waited for: see ``linger``.
        process = warm.start(PRELUDE + body, words, prefix=prefix, env={**os.environ, **env})
        self.ranks.append(Rank(process))
        return self.ranks[-1]

    def finish(self, seconds: float = 100.0, *, but: int | None = None) -> list[Rank]:
        """Wait for all ranks except number ``but``, which may be stopped; the ranks, in order."""
        deadline = time.monotonic() + seconds
        for number, rank in enumerate(self.ranks):
            if number != but:
                rank.finish(max(0.1, deadline - time.monotonic()))
        return self.ranks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.process.send_signal(signal.SIGKILL)
            if not rank.output:
                rank.process.communicate()


def run(size: int, body: str, **options: Any) -> list[Rank]:
    """All ranks from start to end."""
    with Ranks(size, body, **options) as ranks:
        return ranks.finish()
