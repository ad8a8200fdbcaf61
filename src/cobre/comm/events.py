"""`emit`: what ranks report while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["emit", "receiving"]

Sink = Callable[[Any], None]

_current: ContextVar[Sink | None] = ContextVar("cobre.comm.events", default=None)
_open: list[Sink] = []


def emit(event: Any) -> None:
    """Report ``event`` to the ``on_event`` of the `cobre.comm.run` that started this rank.

    Events of one rank arrive in the order in which it emitted them. The event must be picklable. In a rank that
    anything else started there is no listener, and nothing happens: the same function runs under ``cobre launch``.
    """
    sink = _current.get()
    if sink is None and len(_open) == 1:  # a thread that the rank started has a context of its own
        sink = _open[0]
    if sink is not None:
        sink(event)


@contextmanager
def receiving(sink: Sink) -> Iterator[None]:
    """Inside the block, and in threads started there, events go to ``sink``."""
    token = _current.set(sink)
    _open.append(sink)
    try:
        yield
    finally:
        _open.remove(sink)
        _current.reset(token)
