"""Real processes for tests of the shm backend: ranks that run a few lines and say how it went."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import warm

# The promise, from the moment of a death on; more only where processes queue for the processors.
IS_BUSY = os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0))
NOTICED_S = 1.5 if IS_BUSY else 0.5

PRELUDE = """
import json, os, signal, sys, threading, time
import numpy as np
from cobre.comm import *
rank, size, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
victim = size - 1
begin = time.monotonic()

def config(**changes):
    return ShmConfig(**{"name": name, "rank": rank, "size": size, "connect_timeout": 2.0, "timeout": 2.0, **changes})

def say(**values):
    os.write(1, (json.dumps(values) + "\\n").encode())  # at once: ranks may share one pipe

def linger():
    sys.stdin.read()  # until those with a smaller number have ended

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

# For a body whose rank has to meet its fate at one point of the native code: the kernel stops it there.
AT_SYSTEM_CALL = """
import ctypes, errno, platform, struct
KILL, TRAP, DENY, ALLOW = 0x80000000, 0x00030000, 0x00050000 | errno.EACCES, 0x7FFF0000
NUMBERS = {
    "x86_64": {"membarrier": 324, "openat": 257, "process_vm_readv": 310},
    "aarch64": {"membarrier": 283, "openat": 56, "process_vm_readv": 270},
}

def at_system_call(name, action, flags=None):
    # From now on `action` instead of that call; with `flags` (of openat), only where it has one of them.
    load, equals, has_bits, finish = 0x20, 0x15, 0x45, 0x06
    steps = [(load, 0, 0, 0), (equals, 0, 1 if flags is None else 3, NUMBERS[platform.machine()][name])]
    if flags is not None:
        steps += [(load, 0, 0, 32), (has_bits, 0, 1, flags)]
    steps += [(finish, 0, 0, action), (finish, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) == 0, os.strerror(ctypes.get_errno())

@ctypes.CFUNCTYPE(None, ctypes.c_int)
def stop(number):
    os.kill(os.getpid(), signal.SIGSTOP)

def stop_when_trapped():
    ctypes.CDLL(None).signal(signal.SIGSYS, stop)  # Python's own handlers would run too late
"""


def fresh_name() -> str:
    return f"/cobre_test_{os.getpid()}_{secrets.token_hex(6)}"


def wait_for(path: Path, seconds: float = 20.0) -> None:
    """Until there is such a file."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
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

    @property
    def exit_code(self) -> int | None:
        return self.process.returncode

    def finish(self, seconds: float) -> None:
        self.output, _ = self.process.communicate(timeout=seconds)
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

    def finish(self, seconds: float = 30.0, *, but: int | None = None) -> list[Rank]:
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
