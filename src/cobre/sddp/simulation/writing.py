"""Writes the tables of one chunk while the next one is computed."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import TYPE_CHECKING, Self

from cobre.sddp.simulation.chunk import Chunk

if TYPE_CHECKING:
    from cobre.sddp.simulation.running import Sink

POLL_S = 0.1
"""How often a waiting thread looks whether the other one has given up."""


class WriterThread:
    """A thread that gives chunks to a sink, one at a time and in order; at most one waits.

    An error of the sink is raised by the next call of `write` or `finish`. Leaving the ``with`` block by an
    exception drops the chunk that waits; the thread has ended when the block is left.
    """

    def __init__(self, sink: Sink | None) -> None:
        self._sink = sink
        self._queue: queue.Queue[Chunk | None] = queue.Queue(maxsize=1)
        self._failure: BaseException | None = None
        self._is_dropping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._sink is not None:
            self._thread = threading.Thread(
                target=self._run, args=(self._sink,), name="cobre-writer", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_dropping.set()
        self._end()

    def write(self, chunk: Chunk) -> None:
        """Hand over a chunk; waits while another one waits."""
        if self._thread is not None:
            self._put(self._thread, chunk)
            self._raise_failure()

    def finish(self) -> None:
        """Return when everything handed over is written."""
        self._end()
        self._raise_failure()

    def _end(self) -> None:
        if self._thread is not None:
            self._put(self._thread, None)
            self._thread.join()
            self._thread = None

    def _put(self, thread: threading.Thread, item: Chunk | None) -> None:
        """Wait for a place in the queue, unless the writer has ended."""
        while thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=POLL_S)
                return

    def _run(self, sink: Sink) -> None:
        while (chunk := self._queue.get()) is not None:
            if self._is_dropping.is_set():
                continue
            try:
                sink.write(chunk)
            except BaseException as error:
                self._failure = error
                return

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
