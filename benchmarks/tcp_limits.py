"""The bare kernel beside ours and theirs: the bytes of each collective over plain sockets, in the same job."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("tcp_limits.cpp")
FRAMES_BYTES = 63  # a call and the header behind it: what any message of ours has in front of its payload
BUFFER_BYTES = 4 << 20
PIECES = (256 << 10, 1 << 20)


class _Flow(ctypes.Structure):
    _fields_ = [
        ("fd", ctypes.c_int),
        ("out", ctypes.c_void_p),
        ("into", ctypes.c_void_p),
        ("to_send", ctypes.c_size_t),
        ("to_receive", ctypes.c_size_t),
    ]


class Bare:
    """A connection between every two ranks. ``allgather`` of the job tells the ports."""

    def __init__(self, rank: int, size: int, allgather: Callable[[object], list]):
        self._rank, self._size = rank, size
        self._yields = size > len(os.sched_getaffinity(0))
        folder = tempfile.mkdtemp() if rank == 0 else ""
        library = Path(allgather(folder)[0]) / "libtcp_limits.so"
        if rank == 0:
            command = ["c++", "-O3", "-std=c++20", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
            subprocess.run(command, check=True, timeout=60)
        with socket.socket() as listener:
            _enlarge(listener)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            ports = allgather(listener.getsockname()[1])
            self._sockets = {}
            for other in range(rank):
                self._sockets[other] = _enlarge(socket.socket())
                self._sockets[other].connect(("127.0.0.1", ports[other]))
                self._sockets[other].sendall(bytes([rank]))
            for _ in range(rank + 1, size):
                connection, _ = listener.accept()
                self._sockets[connection.recv(1)[0]] = connection
        for connection in self._sockets.values():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._library = ctypes.CDLL(str(library))
        allgather(0)
        if rank == 0:
            library.unlink()
            library.parent.rmdir()

    def _move(self, sends, receives, piece: int, own: int = 0, only: list[int] | None = None) -> Bound:
        sockets = {rank: self._sockets[rank] for rank in (self._sockets if only is None else only)}
        return Bound(self._library, sockets, sends, receives, (piece, self._yields), own)

    def swap(self, n_bytes: int, *, own: int = 0) -> list[Bound]:
        """Every rank's bytes to every other rank, ``own`` of them also to its own result, for each size of pieces."""
        each = dict.fromkeys(self._sockets, n_bytes)
        return [self._move(each, each, piece, own) for piece in PIECES]

    def relay(self, n_bytes: int) -> list[Bound | Relay]:
        """The same through rank 0, as ours goes: what a star costs, whoever builds it."""
        if self._rank == 0:
            return [Relay(self._library, self._sockets, n_bytes, piece) for piece in PIECES]
        others = (self._size - 1) * n_bytes
        moves = [self._move({0: n_bytes}, {0: others}, piece, n_bytes, only=[0]) for piece in PIECES]
        for move in moves:
            move.is_star = True
        return moves

    def spread(self, n_bytes: int) -> list[Bound]:
        """Rank 0's bytes to every other rank."""
        if self._rank == 0:
            return [self._move(dict.fromkeys(self._sockets, n_bytes), {}, piece) for piece in PIECES]
        return [self._move({}, {0: n_bytes}, piece) for piece in PIECES]

    def ping_pong(self) -> list[Bound]:
        """One byte from rank 0 to rank 1 and back: two flows, one behind the other."""
        if self._rank > 1:
            return [self._move({}, {}, 1)]
        return [PingPong(self._library, self._sockets, self._rank, self._yields)]


class Bound:
    """So many bytes to and from each rank; ``times(n)`` moves them n times without returning to Python."""

    is_star = False

    def __init__(self, library, sockets, sends, receives, manner, own) -> None:
        self._out = np.ones(max(sends.values(), default=0), np.uint8)
        self._into = {rank: np.zeros(n_bytes, np.uint8) for rank, n_bytes in receives.items()}
        self._flows = (_Flow * len(sockets))()
        for place, (rank, connection) in enumerate(sockets.items()):
            into = self._into[rank].ctypes.data if rank in self._into else 0
            row = (
                connection.fileno(),
                self._out.ctypes.data,
                into,
                sends.get(rank, 0),
                receives.get(rank, 0),
            )
            self._flows[place] = row
        self._own = np.zeros(own, np.uint8)
        piece, yields = manner
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in (self._own, self._out)]
        self._settings = (len(sockets), ctypes.c_size_t(piece), int(yields), *addresses, ctypes.c_size_t(own))
        self._library = library

    def times(self, rounds: int) -> None:
        self._library.move_all(self._flows, *self._settings, rounds)


class Relay:
    """Rank 0 of a star."""

    is_star = True

    def __init__(self, library, sockets, n_bytes, piece) -> None:
        fds = [sockets[rank].fileno() for rank in sorted(sockets)]
        self._fds = (ctypes.c_int * len(fds))(*fds)
        self._own = np.ones(n_bytes, np.uint8)
        self._result = np.zeros((len(fds) + 1) * n_bytes, np.uint8)
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in (self._result, self._own)]
        self._settings = (len(fds), *addresses, ctypes.c_size_t(n_bytes), ctypes.c_size_t(piece))
        self._library = library

    def times(self, rounds: int) -> None:
        self._library.relay_all(self._fds, *self._settings, rounds)


class PingPong:
    """A byte there and back."""

    def __init__(self, library, sockets, rank, yields) -> None:
        self._library, self._fd = library, sockets[1 - rank].fileno()
        self._is_first, self._yields = int(rank == 0), int(yields)

    def times(self, rounds: int) -> None:
        self._library.ping_pong(self._fd, self._is_first, self._yields, rounds)


def _enlarge(connection: socket.socket) -> socket.socket:
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")  # as ours, within a machine
    return connection
