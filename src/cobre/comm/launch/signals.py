"""Signals that reach the launcher reach every rank."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any, Self

from cobre.comm.launch.group import Group

__all__ = ["SignalRelay"]

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class SignalRelay:
    """While the ``with`` block runs, forwards signals; the second one that asks for the end kills.

    Ranks run in sessions of their own, so that the terminal's Ctrl-C reaches them through here and exactly once.
    """

    def __init__(self, group: Group) -> None:
        self.asked_to_end: list[signal.Signals] = []
        self._group = group
        self._early: list[signal.Signals] | None = []
        self._previous: dict[signal.Signals, Any] = {}

    def all_started(self) -> None:
        """Every rank is there now: forward what came meanwhile, and from now on at once."""
        early, self._early = self._early or [], None
        for number in early:
            self._forward(number)

    def __enter__(self) -> Self:
        for number in FORWARDED:
            # A signal that the launcher ignores (nohup, a background job) is ignored for its ranks, too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._early is not None:
            self._early.append(signal.Signals(number))
        else:
            self._forward(signal.Signals(number))

    def _forward(self, number: signal.Signals) -> None:
        if number == signal.SIGTSTP:
            self._group.send(signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)  # returns when the shell lets this process go on
            self._group.send(signal.SIGCONT)
            return
        if number in ENDING:
            self.asked_to_end.append(number)
        self._group.send(number if len(self.asked_to_end) < 2 else signal.SIGKILL)
