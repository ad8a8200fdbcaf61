"""Standard input as the SDK reads it: lines of limited length; reading stops while the client does not read answers."""

from __future__ import annotations

import io
import os
import re
import select
import sys
import threading
import time
from collections.abc import Callable

__all__ = ["LONGEST_LINE", "limit_lines"]

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes: as much as a request over HTTP may have."""
AHEAD = 1 << 13
"""Bytes that are read at once: requests that wait for their turn take memory."""

HALVES = re.compile(rb"\\(?:(u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|(u[dD][89a-fA-F]\w\w)|.)")
"""Escapes in JSON: both halves of a character, one without the other, or anything else."""
CUT = re.compile(rb"\\(?:u(?:\w{0,3}|[dD][89abAB]\w\w(?:\\(?:u\w{0,3})?)?))?\Z")
"""An escape that may go on in what is read next."""

END_GRACE_S = 10.0
"""How long answers may wait for a reader after standard input was closed."""


class LimitedLines(io.RawIOBase):
    """Bytes of a descriptor; what a line has beyond the limit is left out, and so the line is no message.

    Half a character (an escape such as ``\\ud83d`` alone, where a host cut a text) is replaced: the SDK would give no
    answer.
    """

    def __init__(self, descriptor: int, longest: int = LONGEST_LINE, answers: int | None = None) -> None:
        """``answers`` is the descriptor to which answers go: nothing is read while it is full."""
        self._descriptor = descriptor
        self._longest = longest
        self._length = 0
        self._cut = self._ready = b""
        self._answers = select.poll()
        if answers is not None:
            self._answers.register(answers, select.POLLOUT)
        self._waits = answers is not None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, except at the end."""
        is_end = False
        while not self._ready and not is_end:
            if self._waits:
                self._answers.poll()
            data = os.read(self._descriptor, min(len(buffer), AHEAD))
            self._ready, is_end = self._limited(self.whole(data)), not data
        given, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def whole(self, data: bytes) -> bytes:
        """The bytes with whole characters; an escape that may not have ended is kept for the next time."""
        is_end, data = not data, self._cut + data
        self._cut = b""
        if b"\\" not in data:
            return data
        cut = None if is_end else CUT.search(data)
        if cut is not None:
            before = data[: cut.start()]
            is_escaped = (len(before) - len(before.rstrip(b"\\"))) % 2
            place = cut.start() + is_escaped
            data, self._cut = data[:place], data[place:]
        return HALVES.sub(lambda found: rb"\ufffd" if found[2] else found[0], data)

    def _limited(self, data: bytes) -> bytes:
        found = []
        for line in data.splitlines(keepends=True) if b"\r" not in data else _lines(data):
            room = max(0, self._longest - self._length)
            self._length += len(line)
            is_end = line.endswith(b"\n")
            found.append(line if len(line) <= room else line[:room] + (b"\n" if is_end else b""))
            if is_end:
                self._length = 0
        return b"".join(found)


def _lines(data: bytes) -> list[bytes]:
    """Split after newlines alone."""
    parts = [part + b"\n" for part in data.split(b"\n")]
    parts[-1] = parts[-1][:-1]
    return [part for part in parts if part]


def limit_lines(give_up: Callable[[], None]) -> None:
    """From now on reads of ``sys.stdin`` return lines of limited length; descriptor 0 becomes empty for children.

    ``give_up`` is called, in a thread, if the host has closed standard input and does not read what is still answered,
    or if it has closed the other end of standard output.
    """
    wire = os.dup(0)
    os.set_inheritable(wire, False)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    answers = os.dup(1)  # the SDK lets 1 point elsewhere
    os.set_inheritable(answers, False)
    lines = LimitedLines(wire, answers=answers)
    watch = threading.Thread(target=_give_up_late, args=(wire, answers, give_up), daemon=True)
    watch.start()
    sys.stdin = io.TextIOWrapper(io.BufferedReader(lines, AHEAD), encoding="utf-8")


def _give_up_late(wire: int, answers: int, give_up: Callable[[], None]) -> None:
    """Otherwise the writer of an answer would wait for ever, and the process with it."""
    ends, readers = select.poll(), select.poll()
    ends.register(wire, getattr(select, "POLLRDHUP", 0))
    ends.register(answers, 0)
    readers.register(answers, select.POLLOUT)
    ends.poll()
    while found := readers.poll(END_GRACE_S * 1000):
        if found[0][1] & select.POLLERR:
            time.sleep(END_GRACE_S)  # for a process that ends by itself
            break
        time.sleep(1.0)
    give_up()
