"""Lines on standard input that are no messages: the SDK leaves them without an answer, and their senders would wait."""

from __future__ import annotations

import contextvars
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from cobre.mcp.standard_input import LONGEST_LINE

__all__ = ["Messages", "answer_to"]


class Messages:
    """The messages of a client in their order. What is none is answered with an error and left out."""

    def __init__(self, incoming: Any, answers: Any) -> None:
        self._incoming = incoming
        self._answers = answers

    @property
    def last_context(self) -> contextvars.Context | None:
        """Of the message that was received last."""
        found: contextvars.Context | None = self._incoming.last_context
        return found

    async def receive(self) -> SessionMessage:
        """The next message."""
        while isinstance(item := await self._incoming.receive(), Exception):
            answer = answer_to(item)
            if answer is not None:
                await self._answers.send(SessionMessage(answer))
        found: SessionMessage = item
        return found

    async def aclose(self) -> None:
        """Receive no more."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def answer_to(error: Exception) -> JSONRPCError | None:
    """The answer to a line that could not be read for ``error``; None where JSON-RPC has none.

    It has the id of a request that is malformed elsewhere. An empty line, a notification and an answer get no answer.
    """
    problems = (
        error.errors(include_url=False, include_context=False) if isinstance(error, ValidationError) else []
    )
    if any(each["type"] == "json_invalid" for each in problems):
        if not str(problems[0]["input"]).strip():
            return None
        return _refusal(PARSE_ERROR, f"this line is not JSON, or has more than {LONGEST_LINE} bytes", None)
    whole = next((each["input"] for each in problems if each["type"] == "missing"), None)
    if not isinstance(whole, dict):
        return _refusal(INVALID_REQUEST, "a line holds one message, which is an object", None)
    if "id" not in whole or "result" in whole or "error" in whole:
        return None
    name = whole["id"] if isinstance(whole["id"], str | int) else None
    wrong = sorted({str(each["loc"][1]) for each in problems if each["loc"][0] == "JSONRPCRequest"} - {"id"})
    return _refusal(INVALID_REQUEST, f"this is no request; wrong or missing: {', '.join(wrong)}", name)


def _refusal(code: int, message: str, name: str | int | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=name, error=ErrorData(code=code, message=message))
