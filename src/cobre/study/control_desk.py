"""Where requests to steer a run arrive: a Unix socket that the first rank listens on."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cobre.errors import CobreError
from cobre.sddp.control import Request, check_request

__all__ = ["SocketDesk", "open_desk"]

LONGEST_REQUEST = 1 << 16
READ_TIMEOUT_S = 10.0
MOST_CONNECTIONS = 16
END_TIMEOUT_S = 10.0
ENDED: dict[str, Any] = {
    "error": {"message": "the run ended before it took the request up", "suggestion": "start it again"}
}


class _Entry:
    """A request and the connection that waits for its answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answer: Mapping[str, Any] = ENDED
        self.is_answered = threading.Event()


class SocketDesk:
    """Listens at a path. Threads read requests and send answers; the run takes requests when it can."""

    def __init__(self, address: str) -> None:
        _remove_abandoned(Path(address).parent)
        self._address = address
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unfinished = (
            f"{address}.new"  # a socket with its last name that does not listen yet would look abandoned
        )
        try:
            Path(unfinished).unlink(missing_ok=True)
            self._listener.bind(unfinished)
            Path(unfinished).chmod(0o600)
            self._listener.listen(MOST_CONNECTIONS)
            Path(unfinished).replace(address)
        except OSError:
            self._listener.close()
            raise
        self._changed = threading.Condition()
        self._waiting: list[_Entry] = []
        self._taken: dict[int, _Entry] = {}
        self._count = 0
        self._is_closed = False
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, name="cobre-control", daemon=True)
        self._acceptor.start()

    def pending(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    def take(self) -> list[Request]:
        """All that wait, in the order in which they came."""
        with self._changed:
            entries, self._waiting = self._waiting, []
            self._taken.update((entry.request.number, entry) for entry in entries)
        return [entry.request for entry in entries]

    def answer(self, request: Request, outcome: Mapping[str, Any]) -> None:
        """Send the answer to the client."""
        with self._changed:
            entry = self._taken.pop(request.number)
        entry.answer = outcome
        entry.is_answered.set()

    def wait(self, seconds: float) -> None:
        """Return when a request waits, or after so much time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), seconds)

    def close(self) -> None:
        """Answer what is left, that the run has ended, and listen no more."""
        with contextlib.suppress(OSError):
            Path(self._address).unlink()
        with self._changed:
            self._is_closed = True
            left = [*self._waiting, *self._taken.values()]
            self._waiting, self._taken = [], {}
            connections = list(self._connections)
        for entry in left:
            entry.is_answered.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(
                    socket.SHUT_RD
                )  # wakes a thread that waits for a request; answers still go out
        for thread in [self._acceptor, *self._threads]:
            thread.join(END_TIMEOUT_S)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                is_welcome = not self._is_closed and len(self._connections) < MOST_CONNECTIONS
                if is_welcome:
                    self._connections.add(connection)
            if not is_welcome or _peer_uid(connection) != os.getuid():
                self._forget(connection)
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads = [each for each in self._threads if each.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            answer = self._answer_to(_read_line(connection))
            connection.settimeout(READ_TIMEOUT_S)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError):
            pass  # the client has disconnected, or sent no valid request
        finally:
            self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.discard(connection)
        connection.close()

    def _answer_to(self, line: bytes) -> Mapping[str, Any]:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("no object")
        try:
            action, arguments = check_request(message.get("action"), message.get("arguments", {}))
        except CobreError as error:
            return {"error": error.to_dict()}
        with self._changed:
            if self._is_closed:
                return ENDED
            self._count += 1
            entry = _Entry(Request(self._count, action, arguments))
            self._waiting.append(entry)
            self._changed.notify_all()
        if not message.get("wait", True):
            return {"accepted": True, "error": None}
        entry.is_answered.wait()  # ends with the run at the latest: `close` answers everything
        return entry.answer


def _read_line(connection: socket.socket) -> bytes:
    connection.settimeout(READ_TIMEOUT_S)
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(1 << 12)
        if not piece or len(received) > LONGEST_REQUEST:
            raise ValueError("no whole request")
        received += piece
    return received


def _peer_uid(connection: socket.socket) -> int:
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)


def _remove_abandoned(folder: Path) -> None:
    """Remove sockets of runs that were killed."""
    for path in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue


@contextlib.contextmanager
def open_desk(address: str | None) -> Iterator[SocketDesk | None]:
    """Listen at ``address`` inside the block; None where there is no address, or where listening there fails."""
    if address is None:
        yield None
        return
    try:
        desk = SocketDesk(address)
    except OSError:
        yield None  # the run goes on without requests; a client gets a connection error
        return
    try:
        yield desk
    finally:
        desk.close()
