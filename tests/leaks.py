"""What a test must not leave behind: open descriptors, processes, entries of /dev/shm.

Several test runs share a machine, and the workers of one run do. Each looks only for what is its own: processes that
carry its mark in their environment, and names in /dev/shm that no process of anybody else uses.
"""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

MARK_NAME, MARK_VALUE = "COBRE_TEST_RUN", uuid.uuid4().hex
"""Every process that a test starts inherits this variable."""
GRACE_S = 10.0
"""How long the end of a process may take after the test on a busy machine; it is waited for only where one is left."""

_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
_MARK = f"{MARK_NAME}={MARK_VALUE}".encode()
_SHM = Path("/dev/shm")
_has_started = False


def note_start() -> None:
    """A process was started, so that the next look at what is left includes processes."""
    global _has_started
    _has_started = True


def _note_event(event: str, _: object) -> None:
    if event in _STARTS:
        note_start()


sys.addaudithook(_note_event)


class Watch:
    """Compares what there is after each test with what there was before it."""

    def __init__(self) -> None:
        self._processes = _processes()

    def look(self) -> set[str]:
        """What is there before a test, processes aside: they are known from the last look at them."""
        return _descriptors() | _segments()

    def left(self, before: set[str]) -> list[str]:
        """What came since ``before`` and does not go away by itself, described."""
        global _has_started
        deadline = time.monotonic() + GRACE_S
        while (left := self._new(before)) and time.monotonic() < deadline:
            time.sleep(0.02)
        if _has_started:
            _has_started = False
            self._processes = _processes()
        return [_described(item) for item in sorted(left)]

    def expect(self) -> None:
        """The processes that are there now were started for several tests, and whoever started them ends them."""
        self._processes |= _processes()

    def _new(self, before: set[str]) -> set[str]:
        new = {item for item in self.look() - before if not _is_used_by_others(item)}
        return new | (_processes() - self._processes) if _has_started else new


def _descriptors() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"fd {entry.name} -> {entry.readlink()}")
        except OSError:  # the descriptor that lists this folder is gone by now
            continue
    return {item for item in found if not item.endswith("/fd")}


def _processes() -> set[str]:
    return {f"process {entry.name}" for entry, environ in _environments() if _MARK in environ.split(b"\0")}


def _segments() -> set[str]:
    # Of another process that runs tests:
    others = re.compile(rf"cobre_test_(?!{os.getpid()}_)|cobre_comm_doctor_test_(?!{os.getpid()}$)")
    names = [path.name for path in _SHM.glob("cobre*")] if _SHM.is_dir() else []
    return {f"segment {name}" for name in names if not others.match(name)}


def _environments() -> Iterator[tuple[Path, bytes]]:
    """Every other process whose environment may be read."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            yield entry, (entry / "environ").read_bytes()
        except OSError:
            continue


def _is_used_by_others(item: str) -> bool:
    """Whether it is an entry of /dev/shm that a process of another test run, or of a user, names or has open."""
    kind, _, name = item.partition(" ")
    if kind != "segment":
        return False
    return any(
        _MARK not in environ.split(b"\0")
        and (name.encode() in environ or _mentions(entry, name.encode()) or _has_open(entry, name))
        for entry, environ in _environments()
    )


def _mentions(process: Path, name: bytes) -> bool:
    try:
        return name in (process / "cmdline").read_bytes() or name in (process / "maps").read_bytes()
    except OSError:
        return False


def _has_open(process: Path, name: str) -> bool:
    try:
        return any(entry.readlink().name.startswith(name) for entry in (process / "fd").iterdir())
    except OSError:
        return False


def _described(item: str) -> str:
    """A process with its command, in which its test's folder stands."""
    try:
        words = Path(f"/proc/{item.removeprefix('process ')}/cmdline").read_bytes().split(b"\0")
    except OSError:  # no process, or gone by now
        return item
    return f"{item}: {b' '.join(words).decode(errors='replace')[:300]}"
