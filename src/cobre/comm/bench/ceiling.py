"""What the machine can do: copy memory, and send to itself. Measured by rank 0 while the others wait."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import numpy as np

__all__ = ["limits_gb_per_s"]

REPEATS = 7
PIECE = 256 << 10
STREAM = 256 << 20


def limits_gb_per_s(kind: str, sizes: list[int]) -> dict[int, float]:
    """For each size what one process copies, or what one connection through 127.0.0.1 sustains, whatever the size."""
    if kind == "memcpy":
        return {size: _copy(size) for size in sizes}
    speed = _stream() if sizes else 0.0
    return dict.fromkeys(sizes, speed)


def _copy(size: int) -> float:
    """The best of several copies: noise only ever slows down."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return size / best / 1e9


def _stream() -> float:
    """The best sixteenth of a long stream in large pieces; both ends run at once, because neither holds the GIL."""
    source, target = bytearray(PIECE), memoryview(bytearray(PIECE))
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as sender,
        listener.accept()[0] as receiver,
    ):
        sending = threading.Thread(target=_send, args=(sender, source))
        sending.start()
        best, part = float("inf"), STREAM // 16
        for _ in range(16):
            received, start = 0, time.perf_counter()
            while received < part:
                received += receiver.recv_into(target)
            best = min(best, (time.perf_counter() - start) / received)
        sender.shutdown(socket.SHUT_RDWR)  # not the receiver: a sender that waits for room would not notice
        sending.join()
    return 1 / best / 1e9


def _send(sender: socket.socket, piece: bytearray) -> None:
    with contextlib.suppress(OSError):  # the receiver has had enough
        while True:
            sender.sendall(piece)
