"""Imports of the MCP SDK in less time.

Its hundreds of Pydantic models are built when they are first used: the SDK builds the models of all versions of the
protocol when it is imported, and a client speaks one of them. Pydantic has a setting for that, ``defer_build``, which
the SDK does not use. What only HTTP needs is not imported for a host on standard input and output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pydantic
from pydantic import BaseModel, ConfigDict, TypeAdapter

from cobre.mcp.late_imports import importing_later

__all__ = ["building_models_later", "quick_imports", "without_rich"]

OVER_HTTP = (
    "httpx2",
    "mcp.client",
    "mcp.server._streamable_http_modern",
    "mcp.server.auth",
    "mcp.server.sse",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
    "mcp.shared.auth",
    "python_multipart",
    "sse_starlette",
    "starlette",
    "uvicorn",
)
"""What the SDK imports and a server on standard input and output does not use."""
OF_VERSIONS = ("mcp_types._v2025_11_25", "mcp_types._v2026_07_28")
"""Messages of the versions of the protocol: those of the client's version are imported with its first message."""


@contextmanager
def quick_imports(*, over_http: bool) -> Iterator[None]:
    """The way to import the SDK for one kind of transport."""
    with ExitStack() as stack:
        stack.enter_context(building_models_later())
        if not over_http:
            stack.enter_context(importing_later(*OVER_HTTP, *OF_VERSIONS))
        yield


@contextmanager
def building_models_later() -> Iterator[None]:
    """Models and type adapters that are defined in the ``with`` block are built when they are first used."""
    config, build = BaseModel.model_config, TypeAdapter.__init__

    def build_later(
        self: TypeAdapter[Any],
        type_: Any,
        *,
        config: ConfigDict | None = None,
        _parent_depth: int = 2,
        **more: Any,
    ) -> None:
        depth = _parent_depth + 1
        try:
            build(self, type_, config=config or ConfigDict(defer_build=True), _parent_depth=depth, **more)
        except pydantic.PydanticUserError:  # types with settings of their own take no others
            build(self, type_, config=config, _parent_depth=depth, **more)

    BaseModel.model_config = ConfigDict(**config, defer_build=True)
    TypeAdapter.__init__ = build_later  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        BaseModel.model_config, TypeAdapter.__init__ = config, build  # type: ignore[method-assign]


@contextmanager
def without_rich() -> Iterator[None]:
    """The SDK imports Rich for its log, if it is there: in this block it is not, and the log has plain lines."""
    name = "rich.console"
    kept = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        del sys.modules[name]
        if kept is not None:
            sys.modules[name] = kept
