"""A byte-level proxy between a worker and rank 0 that delays, cuts up, stalls, halves and breaks what passes."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time


class Proxy:
    """Listens at ``at``, on a port of its own if that is 0, and passes every connection on to port ``target`` of
    ``host``; used as a context.

    ``largest`` is the most bytes passed on at once, ``pause_s`` what is waited for now and then between two.
    ``breaks`` is how the first connection ends, and after how many bytes in both directions together.
    """

    def __init__(
        self,
        target,
        *,
        host="127.0.0.1",
        at=("127.0.0.1", 0),
        largest=65536,
        pause_s=0.0,
        stalls=0.05,
        breaks=None,
        seed=0,
    ):
        self._target = (host, target)
        self._largest, self._pause_s, self._stalls = largest, pause_s, stalls
        self._breaks, self._passed, self.has_broken = breaks, 0, False
        self._counting = threading.Lock()
        self._random = random.Random(seed)
        self._listener = socket.create_server(at)
        self.port = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._pairs, self._threads, self._is_closed = [], [], False
        self.addresses = []  # of its connections to rank 0, as rank 0 sees them
        self._start(self._accept)

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            upstream = self._reach()
            if upstream is None:
                client.close()
                continue
            self._pairs.append((client, upstream))
            self.addresses.append("{}:{}".format(*upstream.getsockname()))
            for connection in (client, upstream):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._start(self._pass_on, client, upstream)
            self._start(self._pass_on, upstream, client)

    def _reach(self):
        """Rank 0, which may start later than the rank behind the proxy."""
        end = time.monotonic() + 60
        while time.monotonic() < end and not self._is_closed:
            with contextlib.suppress(OSError):
                upstream = socket.create_connection(self._target)
                if upstream.getsockname() != upstream.getpeername():  # TCP may connect a free port to itself
                    return upstream
                upstream.close()
            time.sleep(0.02)
        return None

    def _pass_on(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while data:
                    self._flows.wait()
                    count = self._random.randint(1, self._largest)
                    if self._pause_s and self._random.random() < self._stalls:
                        time.sleep(self._pause_s)
                    if self._breaks is not None and not self.has_broken:
                        count = self._pass_until_broken(target, data[:count])
                    else:
                        target.sendall(data[:count])
                    data = data[count:]
            target.shutdown(socket.SHUT_WR)

    def _pass_until_broken(self, target, data):
        how, after = self._breaks
        with self._counting:
            data = data[: after - self._passed]
            target.sendall(data)
            self._passed += len(data)
            if self._passed == after:
                self.has_broken = True
                getattr(self, how)()
        return len(data)

    def freeze(self):
        """Pass nothing on from now on, and close nothing."""
        self._flows.clear()

    def thaw(self):
        self._flows.set()

    def wait_until_ended(self, seconds):
        """Until all connections that it passes on have been closed by both sides."""
        end = time.monotonic() + seconds
        for thread in self._threads[1:]:
            thread.join(max(0.0, end - time.monotonic()))
            assert not thread.is_alive(), "a connection is still open"

    def reset(self):
        """Break both connections with a reset; rank 0 knows it before the worker can come again."""
        for client, upstream in self._pairs:
            for connection in (upstream, client):
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.shutdown(socket.SHUT_RD)  # wakes the thread that reads
                    connection.close()

    def half_close(self):
        """Say on both sides, to rank 0 first, that nothing more will come, and go on reading."""
        for client, upstream in self._pairs:
            for connection in (upstream, client):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._is_closed = True
        self._flows.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for pair in self._pairs:
            for connection in pair:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
        for thread in self._threads:
            thread.join(60)
