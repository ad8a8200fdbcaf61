"""Connections over HTTP that are closed if their request does not arrive: the server has room for a limited number."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["TimedConnection"]


class TimedConnection(H11Protocol):
    """Whoever sends nothing, or half a request, makes room for others after once or twice `PATIENCE_S`.

    How long an answer takes does not count: calls may wait for a run.
    """

    PATIENCE_S = 20.0

    def connection_made(self, transport: Any) -> None:
        """Begin to look at the connection."""
        super().connection_made(transport)
        self._seen: tuple[bool, object] = (False, None)
        self._next_look = self.loop.call_later(self.PATIENCE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close it if it waited for the same request the last time, too."""
        cycle = self.cycle
        waits = cycle is None or bool(cycle.response_complete or cycle.more_body)
        if waits and self._seen == (True, cycle):
            if isinstance(self.transport, asyncio.Transport):
                self.transport.abort()
            return
        self._seen = (waits, cycle)
        self._next_look = self.loop.call_later(self.PATIENCE_S, self._look)
