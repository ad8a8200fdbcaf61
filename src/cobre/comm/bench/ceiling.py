"""What the machine can do: copy memory, and send to itself. Measured in the same run, by rank 0 alone."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import numpy as np

__all__ = ["limit_gb_per_s"]

REPEATS = 5
BUFFER = 1 << 20


def limit_gb_per_s(kind: str, size: int) -> float:
    """The best of several tries: noise only ever slows down."""
    tries = {"memcpy": _copy, "loopback": _send}[kind](size)
    return size / min(tries() for _ in range(REPEATS)) / 1e9


def _copy(size: int) -> Callable[[], float]:
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)

    def once() -> float:
        start = time.perf_counter()
        np.copyto(target, source)
        return time.perf_counter() - start

    return once


def _send(size: int) -> Callable[[], float]:
    source, target = memoryview(bytearray(size)), memoryview(bytearray(size))

    def once() -> float:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as sender,
            listener.accept()[0] as receiver,
        ):
            for end in (sender, receiver):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            start = time.perf_counter()
            thread = threading.Thread(target=sender.sendall, args=(source,))
            thread.start()
            received = 0
            while received < size:
                received += receiver.recv_into(target[received : received + BUFFER])
            spent = time.perf_counter() - start
            thread.join()
        return spent

    return once
