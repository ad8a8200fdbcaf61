"""How a function becomes a tool: arguments checked, work on a thread, answer checked, errors as `to_dict()`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError

from cobre.draw.text import visible
from cobre.errors import CobreError
from cobre.errors import ValidationError as InvalidInput
from cobre.mcp.failures import unexpected
from cobre.mcp.limits import too_much
from cobre.mcp.service import Service
from cobre.mcp.texts import error_text, printable

__all__ = ["Answer", "Arguments", "CobreTool", "Definition", "Result"]

TIMEOUT_S = 60.0
"""For tools that do not wait for a run."""
AT_A_TIME = 4
"""Calls that work at the same time; others wait."""
MOST_PROBLEMS = 10


class Arguments(ArgModelBase):
    """What a caller may give: no other fields, no other types."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    def model_dump_one_level(self) -> dict[str, Any]:
        """The tool gets the model itself."""
        return {"arguments": self}


class Answer(BaseModel):
    """What a tool answers, and its schema."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


@dataclass
class Result:
    """An answer with links to what is too large for one."""

    answer: Answer
    links: Sequence[ResourceLink] = ()


Work = Callable[[Service, Any], Answer | Result]
WaitingWork = Callable[[Service, Any, Context], Awaitable[Answer | Result]]


@dataclass(frozen=True)
class Definition:
    """A tool before it belongs to a server."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    work: Work | None = None
    """Runs on a thread and ends within `TIMEOUT_S`."""
    waiting_work: WaitingWork | None = None
    """In place of ``work``: waits without a thread, so that a cancelled call reaches it."""
    writes: bool = False
    hints: dict[str, bool] = field(default_factory=dict)

    def tool(self, service: Service) -> CobreTool:
        """For one server."""
        is_disabled = self.writes and not service.settings.allow_write
        note = (
            " DISABLED: this server was started without --allow-write and only reads." if is_disabled else ""
        )
        hints = {"read_only_hint": not self.writes, "open_world_hint": False, **self.hints}
        return CobreTool(
            fn=partial(_call, service, self),
            name=self.name,
            title=self.title,
            description=self.description + note,
            parameters=self.arguments.model_json_schema(by_alias=True),
            fn_metadata=FuncMetadata(arg_model=self.arguments, output_model=self.answer),
            is_async=True,
            context_kwarg="context",
            annotations=ToolAnnotations(title=self.title, **hints),
            meta={"cobre/disabled": True} if is_disabled else None,
        )


repeatable = partial(Definition, writes=True, hints={"destructive_hint": False, "idempotent_hint": True})
"""A tool that writes; a second call leaves what the first one did."""


class CobreTool(Tool):
    """Tells wrong arguments in the words of every other error."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Check the arguments, then do as any tool."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(
                _prefixed(self.name, wrong_arguments(self.name, error, self.parameters))
            ) from None
        return await super().run(arguments, context, convert_result=convert_result)


def _prefixed(name: str, error: CobreError) -> str:
    """As the SDK begins the text of every error that a tool raises."""
    return f"Error executing tool {name}: {error}\n{json.dumps(error.to_dict(), allow_nan=False)}"


def wrong_arguments(tool: str, error: ValidationError, schema: Mapping[str, Any]) -> InvalidInput:
    """All wrong arguments at once; values of the caller are not repeated."""
    problems = [
        {
            "field": visible(".".join(str(part) for part in each["loc"]), 120),
            "message": visible(
                f"is unknown; known are {', '.join(_names_at(schema, each['loc'][:-1]))}"
                if each["type"] == "extra_forbidden"
                else each["msg"],
                400,
            ),
        }
        for each in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    shown = "; ".join(
        f"{each['field'] or 'arguments'}: {each['message']}" for each in problems[:MOST_PROBLEMS]
    )
    more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
    return InvalidInput(
        f"wrong arguments: {shown}{more}",
        kind="SchemaViolation",
        context={"tool": tool},
        suggestion="see the input schema of the tool in tools/list",
        errors=problems[:MOST_PROBLEMS],
    )


def _names_at(schema: Mapping[str, Any], place: Sequence[int | str]) -> list[str]:
    """Which arguments there are at a place of the input schema, where an unknown one was given."""
    found: Any = schema
    for part in place:
        choices = found.get("anyOf", [found])
        below = [
            each.get("items") if isinstance(part, int) else each.get("properties", {}).get(part)
            for each in choices
        ]
        found = next((each for each in below if each is not None), {})
        for each in (found, *found.get("anyOf", ())):
            if "$ref" in each:
                found = schema["$defs"][each["$ref"].rpartition("/")[2]]
    return list(found.get("properties", ()))


async def _call(
    service: Service, definition: Definition, arguments: Arguments, context: Context
) -> CallToolResult:
    try:
        service.rate.take()
        if definition.writes:
            service.check_writing()
        with service.at_once:
            if definition.waiting_work is not None:
                found = await definition.waiting_work(service, arguments, context)
            else:
                found = await _on_thread(definition, service, arguments)
            return _result(found, service.settings.max_bytes)
    except CobreError as error:
        raise ToolError(error_text(error, service.roots)) from None
    except Exception as error:
        raise ToolError(error_text(unexpected(error, definition.name), service.roots)) from None


async def _on_thread(definition: Definition, service: Service, arguments: Arguments) -> Answer | Result:
    if definition.work is None:
        raise AssertionError(f"{definition.name} has nothing to do")
    try:
        with anyio.fail_after(TIMEOUT_S):
            return await anyio.to_thread.run_sync(
                definition.work, service, arguments, abandon_on_cancel=True, limiter=_limiter()
            )
    except TimeoutError:
        raise too_much(
            f"{definition.name} took longer than {TIMEOUT_S:.0f} s", "ask for less at once"
        ) from None


_limiters: dict[Any, anyio.CapacityLimiter] = {}


def _limiter() -> anyio.CapacityLimiter:
    """One for each event loop."""
    token = anyio.lowlevel.current_token()
    if token not in _limiters:
        _limiters.clear()
        _limiters[token] = anyio.CapacityLimiter(AT_A_TIME)
    return _limiters[token]


def _result(found: Answer | Result, max_bytes: int) -> CallToolResult:
    """The answer as structured content and as the same JSON in text."""
    result = found if isinstance(found, Result) else Result(found)
    document = printable(result.answer.model_dump(mode="json", by_alias=True))
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > max_bytes:
        raise too_much(
            f"the answer has {len(text.encode())} bytes, more than the {max_bytes} of this server",
            "ask for less: filters, limit, aggregate, or cobre_export_results",
            max_bytes=max_bytes,
        )
    content: list[ContentBlock] = [TextContent(type="text", text=text), *result.links]
    return CallToolResult(content=content, structured_content=document)
