"""Stopping gracefully: a signal asks for the end, and the iteration that runs is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Self

STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While the ``with`` block runs, remembers the first SIGINT or SIGTERM instead of dying of it.

    The second one falls back to what the signal meant before. Outside the main thread, where Python allows no
    handlers, it remembers nothing and signals keep their meaning.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                # An ignored signal stays ignored; a handler that Python did not set is kept.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._previous[number] = signal.signal(number, self._receive)
        return self

    def counts(self) -> dict[str, float]:
        """Which signal this rank got, as numbers that ranks add up: see `signal_of`."""
        return {number.name: float(self.signal == number) for number in STOPPING}

    @staticmethod
    def signal_of(sums: Mapping[str, float]) -> int:
        """The signal that a rank got, by the sums of `counts` over all ranks; 0 if none did."""
        return max((int(number) for number in STOPPING if sums[number.name]), default=0)

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.signal = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, handler)
