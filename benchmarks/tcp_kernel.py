"""What loopback itself costs: a one-byte ping-pong and a stream of 20 MB. Prints JSON, in microseconds."""

from __future__ import annotations

import json
import os
import socket
import statistics
import time

STREAM = 20_000_000
ROUNDS = 2000


def main() -> None:
    """The parent measures, a forked child answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        child = os.fork()
        if child == 0:
            _answer(listener.getsockname())
            os._exit(0)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        figures = {"ping-pong of 1 byte, blocking": _ping(connection), "stream of 20 MB": _stream(connection)}
    os.waitpid(child, 0)
    print(json.dumps(figures))


def _ping(connection: socket.socket) -> float:
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        connection.send(b"x")
        connection.recv(1)
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def _stream(connection: socket.socket) -> float:
    data, samples = bytes(STREAM), []
    for _ in range(20):
        start = time.perf_counter()
        connection.sendall(data)
        connection.recv(1)
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def _answer(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(ROUNDS):
            connection.send(connection.recv(1))
        target = memoryview(bytearray(STREAM))
        for _ in range(20):
            got = 0
            while got < STREAM:
                got += connection.recv_into(target[got:])
            connection.send(b"x")


if __name__ == "__main__":
    main()
