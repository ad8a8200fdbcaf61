"""A few numbers that all ranks of one machine share without the communicator under test."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cobre.comm.protocol import Communicator

__all__ = ["Whiteboard", "whiteboard"]

CELL = 8
TOKEN_BYTES = 16
LONGEST_PATH = 4096


class Whiteboard:
    """One number per rank in an unnamed file: written by its rank, read by all, coherent at once."""

    def __init__(self, fd: int, rank: int, size: int) -> None:
        self._fd, self._rank, self._size = fd, rank, size

    def write(self, value: int) -> None:
        """Set this rank's number."""
        os.pwrite(self._fd, value.to_bytes(CELL, "little"), TOKEN_BYTES + CELL * self._rank)

    def read(self) -> list[int]:
        """Everybody's numbers, in rank order."""
        cells = os.pread(self._fd, CELL * self._size, TOKEN_BYTES)
        return [int.from_bytes(cells[CELL * r : CELL * (r + 1)], "little") for r in range(self._size)]

    def wait(self, ready: Callable[[list[int]], bool], seconds: float) -> bool:
        """Whether ``ready(numbers)`` came true in time."""
        end = time.monotonic() + seconds
        while not ready(self.read()):
            if time.monotonic() > end:
                return False
            time.sleep(0.0005)
        return True


@contextmanager
def whiteboard(comm: Communicator) -> Iterator[Whiteboard | None]:
    """Collective. A whiteboard of zeros, or ``None`` on every rank where they do not share a machine."""
    note = np.zeros(TOKEN_BYTES + LONGEST_PATH, np.uint8)
    path = ""
    if comm.rank == 0:
        token = os.urandom(TOKEN_BYTES)
        handle, path = tempfile.mkstemp(prefix="cobre_comm_whiteboard_")
        os.pwrite(handle, token + bytes(CELL * comm.size), 0)
        os.close(handle)
        text = token + os.fsencode(path)
        note[: len(text)] = np.frombuffer(text, np.uint8)
    fd, has_file = -1, np.zeros(1, np.int64)
    try:
        try:
            comm.broadcast(note, 0)
            fd = _open(note.tobytes())
            comm.allreduce(np.array([fd >= 0], np.int64), has_file, "min")
        finally:
            if path:
                Path(path).unlink()
        yield Whiteboard(fd, comm.rank, comm.size) if has_file[0] else None
    finally:
        if fd >= 0:
            os.close(fd)


def _open(note: bytes) -> int:
    """A descriptor of the file that ``note`` names, or -1 if it is not here."""
    token, path = note[:TOKEN_BYTES], note[TOKEN_BYTES:].rstrip(b"\0")
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return -1
    if os.pread(fd, TOKEN_BYTES, 0) == token:
        return fd
    os.close(fd)
    return -1
