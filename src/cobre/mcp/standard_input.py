"""Standard input as the SDK reads it, with a limit on the length of a line."""

from __future__ import annotations

import io
import os
import sys

__all__ = ["LONGEST_LINE", "limit_lines"]

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes: as much as a request over HTTP may have."""


class LimitedLines(io.RawIOBase):
    """Bytes of a descriptor; what a line has beyond the limit is left out, and so the line is no message."""

    def __init__(self, descriptor: int, longest: int = LONGEST_LINE) -> None:
        self._descriptor = descriptor
        self._longest = longest
        self._length = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, except at the end."""
        while True:
            data = os.read(self._descriptor, len(buffer))
            kept = self._limited(data)
            if kept or not data:
                buffer[: len(kept)] = kept
                return len(kept)

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


def limit_lines() -> None:
    """Let whoever reads ``sys.stdin`` from now on read limited lines; descriptor 0 becomes empty for children."""
    wire = os.dup(0)
    os.set_inheritable(wire, False)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(LimitedLines(wire), 1 << 16), encoding="utf-8")
